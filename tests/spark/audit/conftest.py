"""What the tests of the audit share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.own_jvm import own_jvm


@pytest.fixture(scope="module")
def jvm() -> Iterator[None]:
    """A JVM of this file: a session that another one has left is not encrypted."""
    with own_jvm():
        yield
