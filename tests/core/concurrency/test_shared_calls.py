"""Calls under way, which callers that want the same one share."""

from __future__ import annotations

import threading
from contextvars import ContextVar

import pytest

from airflow_config_providers.core.concurrency.shared_calls import SharedCall, SharedCalls
from tests.core.forks import in_child
from tests.limits import LONGEST

_who: ContextVar[str] = ContextVar("_who", default="nobody")


def given_up(call: SharedCall) -> SharedCall:
    call.is_given_up = True
    return call


def test_whoever_wants_a_call_that_is_under_way_gets_the_same() -> None:
    made, let_go = [], threading.Event()

    def call() -> str:
        made.append(threading.current_thread())
        let_go.wait()
        return "done"

    under_way = SharedCalls()
    first, second = under_way.start("a", call), under_way.start("a", call)
    let_go.set()

    assert first is second
    assert first.result() == "done"
    assert len(made) == 1
    made[0].join()  # it ends, as the call has ended


def test_a_call_that_was_given_up_is_made_once_more_and_the_first_that_succeeds_answers_all() -> None:
    under_way, let_first, let_second = SharedCalls(), threading.Event(), threading.Event()
    first = given_up(under_way.start("a", lambda: let_first.wait() and "first"))
    second = under_way.start("a", lambda: let_second.wait() and "second")

    assert under_way.start("a", lambda: "not made") is second is not first
    let_first.set()
    assert first.result() == second.result() == "first"
    assert under_way.start("a", lambda: "third").result() == "third"
    let_second.set()


def test_an_error_is_that_of_its_own_call_alone() -> None:
    under_way, let_first, let_third = SharedCalls(), threading.Event(), threading.Event()

    def fail() -> None:
        let_first.wait()
        raise ValueError("x")

    first = given_up(under_way.start("a", fail))
    second = given_up(under_way.start("a", lambda: 1 / 0))
    assert isinstance(second.exception(), ZeroDivisionError)
    third = under_way.start("a", lambda: let_third.wait() and "third")
    assert not first.done()
    let_first.set()
    assert isinstance(first.exception(), ValueError)
    assert not third.done()
    let_third.set()

    assert third.result() == "third"


def test_calls_that_hang_are_few_however_often_they_are_given_up() -> None:
    under_way, let_go = SharedCalls(), threading.Event()
    calls = [given_up(under_way.start("a", let_go.wait)) for _ in range(10)]
    let_go.set()

    assert len(set(calls)) == 4
    assert calls[3:] == [calls[3]] * 7
    assert {call.result() for call in calls} == {True}


def test_calls_of_other_names_are_made_meanwhile() -> None:
    both = threading.Barrier(2, timeout=LONGEST)
    under_way = SharedCalls()
    futures = [under_way.start(name, both.wait) for name in "ab"]

    assert {future.result() for future in futures} == {0, 1}


@pytest.mark.parametrize("error", [None, ValueError("x")], ids=["well", "with an error"])
def test_a_call_that_has_ended_is_made_again(error: Exception | None) -> None:
    made: list[threading.Thread] = []

    def call() -> None:
        made.append(threading.current_thread())
        if error is not None:
            raise error

    under_way = SharedCalls()
    for _ in range(2):
        assert under_way.start("a", call).exception() is error
        made[-1].join()

    assert len(made) == 2


def test_a_call_sees_the_context_of_whoever_starts_it() -> None:
    token = _who.set("caller")
    try:
        assert SharedCalls().start("a", _who.get).result() == "caller"
    finally:
        _who.reset(token)


def test_another_process_makes_its_own_call() -> None:
    """A forked child has no thread that would end the parent's call."""
    under_way, let_go = SharedCalls(), threading.Event()
    parents, same = (under_way.start("a", let_go.wait) for _ in range(2))
    childs = in_child(lambda: under_way.start("a", lambda: "the child's").result(LONGEST))
    let_go.set()

    assert parents is same
    assert (parents.result(), childs) == (True, "the child's")
