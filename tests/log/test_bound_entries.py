"""What code binds to the lines of its context, which later code in the same process logs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from structlog.contextvars import bind_contextvars, clear_contextvars, get_contextvars

from airflow_config_providers.core import ConfigVariable, ReverseTransformer
from airflow_config_providers.log.installation import reverse_bound, reversing
from tests.canary import CANARY

REFERENCE = "${vault:apps/db:password}"


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    clear_contextvars()
    yield
    clear_contextvars()


@pytest.fixture
def reverser() -> ReverseTransformer:
    return ReverseTransformer({}, {ConfigVariable("vault", "apps/db", "password"): CANARY})


def test_what_is_bound_shows_references_afterwards(reverser: ReverseTransformer) -> None:
    with reversing(reverser):
        bind_contextvars(token=f"Bearer {CANARY}", nested={"a": [CANARY]})

    assert get_contextvars() == {"token": f"Bearer {REFERENCE}", "nested": {"a": [REFERENCE]}}


def test_so_does_the_name_of_an_entry(reverser: ReverseTransformer) -> None:
    bind_contextvars(**{CANARY: 1})
    reverse_bound(reverser)

    assert get_contextvars() == {REFERENCE: 1}


def test_an_entry_without_a_value_stays_the_same_object(reverser: ReverseTransformer) -> None:
    bind_contextvars(rows=(rows := [1, 2]))
    reverse_bound(reverser)

    assert get_contextvars()["rows"] is rows
