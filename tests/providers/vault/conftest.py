"""A server that answers every login, and keeps what it was asked."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.recorder import Recorder
from tests.servers.web import WebServer


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def address(recorder: Recorder) -> Iterator[str]:
    with WebServer(recorder) as server:
        yield server.address
