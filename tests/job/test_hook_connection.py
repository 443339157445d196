"""The connection that a hook of Airflow's is about to ask for."""

from __future__ import annotations

import asyncio
import json
import threading
import traceback
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("airflow")

from airflow.sdk import BaseHook, Connection
from airflow.sdk.exceptions import AirflowNotFoundException

from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.job.hook_connection import handed_to_hooks
from tests.providers.conftest import in_task  # noqa: F401 - a fixture

CANARY = "c4nary-password"


@pytest.fixture(autouse=True)
def defined(monkeypatch: pytest.MonkeyPatch) -> None:
    """Define the connections ``own`` and ``other``."""
    monkeypatch.setenv("AIRFLOW_CONN_OWN", json.dumps({"conn_type": "aws", "login": "found", "password": CANARY}))
    monkeypatch.setenv("AIRFLOW_CONN_OTHER", json.dumps({"conn_type": "aws", "login": "asked"}))


def login(conn_id: str) -> str | None:
    return BaseHook.get_connection(conn_id).login


def test_a_hook_gets_the_connection_that_was_found_and_does_not_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    with handed_to_hooks("own"):
        monkeypatch.delenv("AIRFLOW_CONN_OWN")

        assert login("own") == "found"


def test_after_the_block_it_asks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with handed_to_hooks("own"):
        login("own")
    monkeypatch.delenv("AIRFLOW_CONN_OWN")

    with pytest.raises(AirflowNotFoundException):
        login("own")


def test_an_error_in_the_block_ends_that_too(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KeyError), handed_to_hooks("own"):
        raise KeyError
    monkeypatch.delenv("AIRFLOW_CONN_OWN")

    with pytest.raises(AirflowNotFoundException):
        login("own")


def test_a_hook_with_another_connection_asks_for_it() -> None:
    with handed_to_hooks("own"):
        assert (login("other"), login("own")) == ("asked", "found")


def test_a_block_in_a_block_hands_over_its_own() -> None:
    with handed_to_hooks("own"):
        with handed_to_hooks("other"):
            assert login("other") == "asked"
        assert login("own") == "found"


def test_another_thread_asks_as_always(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str | None] = []
    with handed_to_hooks("own"):
        monkeypatch.setenv("AIRFLOW_CONN_OWN", json.dumps({"conn_type": "aws", "login": "asked"}))
        thread = threading.Thread(target=lambda: seen.append(login("own")))
        thread.start()
        thread.join()
        login("own")

    assert seen == ["asked"]


def test_a_connection_that_nothing_takes_is_refused() -> None:
    """What opens the path would go on with the credentials of the machine."""
    with pytest.raises(ConfigException, match="did not take its connection 'own'"), handed_to_hooks("own"):
        login("other")


def test_a_connection_that_is_asked_for_in_another_way_is_refused_with_all_that_can_be_the_reason() -> None:
    reasons = "while it was opened: it has no use for one, or asks later or in another way"

    with pytest.raises(ConfigException, match=reasons), handed_to_hooks("own"):
        asyncio.run(Connection.async_get("own"))


@pytest.mark.parametrize("asked", [pytest.param([], id="refused"), pytest.param(["own", "gone"], id="gone")])
def test_a_traceback_with_locals_shows_no_password(monkeypatch: pytest.MonkeyPatch, asked: list[str]) -> None:
    """Where a process asks the Task SDK, its connections show theirs."""
    monkeypatch.setenv("_AIRFLOW_PROCESS_CONTEXT", "server")

    with pytest.raises((ConfigException, AirflowNotFoundException)) as caught, handed_to_hooks("own"):
        list(map(login, asked))

    shown = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    assert CANARY not in "".join(shown.format())


def test_a_connection_that_does_not_exist_is_refused(in_task: Callable[..., Any]) -> None:  # noqa: F811 - a fixture
    in_task()

    with pytest.raises(ConfigException, match="There is no connection 'gone'"), handed_to_hooks("gone"):
        pytest.fail("the block begins")


def test_its_password_is_masked() -> None:
    from airflow_config_providers.masker import masked

    with handed_to_hooks("own"):
        login("own")

    assert masked(f"a {CANARY}") == "a ***"


def test_a_class_derived_from_airflows_connection_stays_itself() -> None:
    class Derived(Connection):
        pass

    with handed_to_hooks("own"):
        assert (Derived.get("own").login, Derived.get("other").login) == ("found", "asked")
