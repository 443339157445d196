"""The connection that a hook of Airflow's is about to ask for."""

from __future__ import annotations

import os
import threading
import time

import pytest

pytest.importorskip("airflow")

from airflow_config_providers.job.hook_connection import readable_by_hooks

PROCESS = "_AIRFLOW_PROCESS_CONTEXT"


@pytest.fixture(autouse=True)
def own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Define the connection ``own``."""
    monkeypatch.setenv("AIRFLOW_CONN_OWN", "aws://")


def test_hooks_may_ask_the_database_in_the_block_alone() -> None:
    with readable_by_hooks("own"):
        assert os.environ[PROCESS] == "server"

    assert PROCESS not in os.environ


def test_an_error_in_the_block_ends_that_too() -> None:
    with pytest.raises(KeyError), readable_by_hooks("own"):
        raise KeyError

    assert PROCESS not in os.environ


def test_a_thread_that_leaves_its_block_takes_nothing_from_another() -> None:
    seen: list[str | None] = []

    def read() -> None:
        with readable_by_hooks("own"):
            time.sleep(0.05)
            seen.append(os.environ.get(PROCESS))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
        time.sleep(0.01)
    for thread in threads:
        thread.join()

    assert seen == ["server"] * 4


def test_a_process_that_airflow_has_named_stays_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PROCESS, "client")

    with readable_by_hooks("own"):
        assert os.environ[PROCESS] == "client"

    assert os.environ[PROCESS] == "client"
