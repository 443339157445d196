"""Threads that make calls side by side and keep no process from ending."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from contextvars import ContextVar

import pytest

from airflow_config_providers.core.concurrency.workers import BriefWorkers, Workers, in_thread
from tests.limits import LONGEST, eventually

_who: ContextVar[str] = ContextVar("_who", default="nobody")

A_CALL_HANGS = """
import threading
from airflow_config_providers.core.concurrency.workers import Workers
begun = threading.Event()
def hang():
    begun.set()
    threading.Event().wait()
with Workers(1) as workers:
    workers.start(hang)
    begun.wait()
print("done")
"""


def test_calls_are_made_side_by_side():
    together = threading.Barrier(3)
    with Workers(3) as workers:
        answers = [workers.start(together.wait) for _ in range(3)]
        assert sorted(answer.result() for answer in answers) == [0, 1, 2]


def test_no_more_calls_are_made_at_once_than_allowed():
    running, most, lock = [0], [0], threading.Lock()

    def call() -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        threading.Event().wait(0.001)
        with lock:
            running[0] -= 1

    with Workers(3) as workers:
        for answer in [workers.start(call) for _ in range(30)]:
            answer.result()
    assert most[0] <= 3


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_what_a_call_raises_is_raised_where_its_answer_is_taken(error: type[BaseException]):
    def fail() -> None:
        raise error

    with Workers(1) as workers, pytest.raises(error):
        workers.start(fail).result()


def test_a_call_sees_the_context_of_its_caller():
    token = _who.set("caller")
    try:
        with Workers(1) as workers:
            assert workers.start(_who.get).result() == "caller"
    finally:
        _who.reset(token)


class Value:
    """What a test can see end."""


def test_the_values_of_a_call_that_failed_end_with_its_error():
    seen = []

    def fail():
        value = Value()
        seen.append(weakref.ref(value))
        raise LookupError

    gc.disable()
    try:
        failed = in_thread(fail)
        with pytest.raises(LookupError):
            failed.result(LONGEST)
        del failed
        assert eventually(lambda: seen[0]() is None)
    finally:
        gc.enable()


def test_what_has_not_begun_at_the_end_is_not_made():
    begun, go_on = threading.Event(), threading.Event()

    def first() -> None:
        begun.set()
        go_on.wait()

    with Workers(1) as workers:
        workers.start(first)
        waiting = workers.start(lambda: None)
        begun.wait()
    go_on.set()

    assert waiting.cancelled()


def test_attack_61_a_call_that_hangs_keeps_no_process_from_ending():
    command = [sys.executable, "-c", A_CALL_HANGS]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=False)

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "done\n", "")


def test_a_single_call_is_made_in_a_thread_that_keeps_no_process_from_ending():
    thread = in_thread(threading.current_thread).result()

    assert thread is not threading.current_thread()
    assert thread.daemon


@pytest.fixture
def no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """No thread can be started."""
    monkeypatch.setattr(threading.Thread, "start", _refuse)


def _refuse(_: threading.Thread) -> None:
    raise RuntimeError("can't create new thread at interpreter shutdown")


@pytest.mark.usefixtures("no_thread")
def test_where_no_thread_can_be_started_a_single_call_is_made_in_the_caller_s():
    assert in_thread(threading.get_ident).result() == threading.get_ident()


@pytest.mark.usefixtures("no_thread")
def test_where_no_thread_can_be_started_calls_are_made_in_the_caller_s():
    with Workers(2) as workers:
        answers = [workers.start(threading.get_ident) for _ in range(2)]

    assert [answer.result() for answer in answers] == [threading.get_ident()] * 2


def test_calls_that_wait_are_made_side_by_side_once_they_are_spread():
    together = threading.Barrier(3)
    with Workers(3, at_first=1) as workers:
        answers = [workers.start(together.wait) for _ in range(3)]
        workers.spread()
        assert sorted(answer.result(LONGEST) for answer in answers) == [0, 1, 2]


def test_before_they_are_spread_calls_are_made_one_after_the_other():
    with Workers(3, at_first=1) as workers:
        threads = {workers.start(threading.get_ident).result(LONGEST) for _ in range(3)}
        assert len(threads) == 1


def test_brief_workers_make_calls_side_by_side():
    together = threading.Barrier(3)
    workers = BriefWorkers(3)
    answers = [workers.start(together.wait) for _ in range(3)]

    assert sorted(answer.result(LONGEST) for answer in answers) == [0, 1, 2]


def test_brief_workers_make_no_more_calls_at_once_than_allowed():
    may_end, begun = threading.Event(), []

    def call(number: int) -> None:
        begun.append(number)
        may_end.wait(LONGEST)

    workers = BriefWorkers(2)
    answers = [workers.start(call, number) for number in range(5)]
    assert eventually(lambda: len(begun) == 2)
    assert [answer.running() for answer in answers] == [True, True, False, False, False]

    may_end.set()
    assert [answer.result(LONGEST) for answer in answers] == [None] * 5


def test_threads_of_brief_workers_end_with_the_calls():
    threads = [BriefWorkers(2).start(threading.current_thread).result(LONGEST) for _ in range(3)]

    assert eventually(lambda: not any(thread.is_alive() for thread in threads))


def test_brief_workers_do_not_make_a_call_that_is_cancelled_while_it_waits():
    may_end, made = threading.Event(), []
    workers = BriefWorkers(1)
    workers.start(may_end.wait)
    cancelled = workers.start(made.append, "cancelled")
    last = workers.start(made.append, "last")
    assert cancelled.cancel()
    may_end.set()
    last.result(LONGEST)

    assert made == ["last"]


def test_a_call_of_brief_workers_sees_the_context_of_its_caller():
    _who.set("me")

    assert BriefWorkers(1).start(_who.get).result(LONGEST) == "me"


@pytest.mark.usefixtures("no_thread")
def test_where_no_thread_can_be_started_brief_workers_make_calls_in_the_caller_s():
    workers = BriefWorkers(2)
    answers = [workers.start(threading.get_ident) for _ in range(3)]

    assert [answer.result() for answer in answers] == [threading.get_ident()] * 3


def test_where_no_more_threads_can_be_started_calls_of_brief_workers_wait_for_those_that_there_are(
    monkeypatch: pytest.MonkeyPatch,
):
    may_end = threading.Event()
    workers = BriefWorkers(2)
    first = workers.start(lambda: may_end.wait(LONGEST) and threading.get_ident())
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", _refuse)
        second = workers.start(threading.get_ident)
    assert not second.done()

    may_end.set()
    assert second.result(LONGEST) == first.result(LONGEST)
