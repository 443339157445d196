"""Signals of changes, while their database is away or slow. What PostgreSQL sends is in tests/integration."""

from __future__ import annotations

import gc
import os
import resource
import socket
import threading
import warnings
from collections.abc import Callable, Iterator

import pytest

pytest.importorskip("airflow")

from airflow_config_providers.dynamic import change_signals
from airflow_config_providers.dynamic.change_signals import ChangeSignals
from tests.limits import LONGEST, eventually

FILES = 1100
"""More than ``select`` can wait for."""


class Lent:
    """A connection, its cursor, and what the pool lends: nothing is ever read from it."""

    def __init__(self) -> None:
        self._ends = socket.socketpair()
        self.dbapi_connection = self
        self.notifies: list[str] = []

    def cursor(self) -> Lent:
        return self

    def close(self) -> None:
        for end in self._ends:
            end.close()

    def fileno(self) -> int:
        return self._ends[0].fileno()

    def detach(self, *args: object, **kwargs: object) -> None:
        pass

    rollback = set_session = execute = detach


class Engine:
    """A database that answers when ``answer`` returns."""

    def __init__(self, answer: Callable[[], object]) -> None:
        self._answer = answer
        self.asked = 0

    def raw_connection(self) -> Lent:
        self.asked += 1
        self._answer()
        return Lent()


@pytest.fixture
def many_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2 * FILES:
        pytest.skip("a process can open too few files here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2 * FILES), hard))
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(FILES)]
    yield
    for descriptor in opened:
        os.close(descriptor)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def away() -> None:
    raise OSError


def test_in_a_process_with_many_open_files_a_lost_connection_is_made_again(
    many_files: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_signals, "_NEXT_TRY", 0.01)
    engine = Engine(away)
    with ChangeSignals(engine, lambda: None):  # type: ignore[arg-type]  # a stand-in
        assert eventually(lambda: engine.asked > 1)


def test_in_a_process_with_many_open_files_signals_are_waited_for(many_files: None) -> None:
    called = threading.Event()
    engine = Engine(lambda: None)
    with ChangeSignals(engine, called.set):  # type: ignore[arg-type]  # a stand-in
        assert called.wait(LONGEST)

    assert engine.asked == 1


@pytest.fixture
def no_thread() -> Iterator[None]:
    usual = threading.stack_size(1 << 46)  # more than any machine has
    yield
    threading.stack_size(usual)


def test_without_a_thread_no_socket_stays_open(no_thread: None) -> None:
    gc.collect()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ResourceWarning)
        with pytest.raises(RuntimeError):
            ChangeSignals(Engine(away), away)  # type: ignore[arg-type]  # a stand-in
        gc.collect()

    assert [str(warning.message) for warning in caught] == []


def test_the_end_does_not_wait_for_a_database_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_signals, "_PATIENCE", 0.01)
    answers, called = threading.Event(), threading.Event()
    signals = ChangeSignals(Engine(answers.wait), called.set)  # type: ignore[arg-type]  # a stand-in
    ending = threading.Thread(target=signals.close)
    ending.start()
    ending.join(LONGEST)
    has_ended = not ending.is_alive()
    answers.set()

    assert has_ended
    assert eventually(lambda: "config-signals" not in {thread.name for thread in threading.enumerate()})
    assert not called.is_set()
