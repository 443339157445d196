from __future__ import annotations

import subprocess
import sys
import threading
from contextvars import ContextVar

import pytest

from airflow_config_providers.core.concurrency.workers import side_by_side
from tests.limits import LONGEST


class Together:
    """Lets the first call return, and others once so many of them are under way; notes how many ever were."""

    def __init__(self, count: int) -> None:
        self._barrier = threading.Barrier(count, timeout=LONGEST)
        self._lock = threading.Lock()
        self._now = 0
        self._made = 0
        self.most = 0

    def __call__(self, item: str) -> str:
        with self._lock:
            self._made += 1
            if self._made == 1:
                return item.upper()
            self._now += 1
            self.most = max(self.most, self._now)
        self._barrier.wait()
        with self._lock:
            self._now -= 1
        return item.upper()


def test_all_calls_but_the_first_are_made_at_once_and_answered_in_order() -> None:
    assert side_by_side(Together(5), "abcdef", at_once=5) == list("ABCDEF")


def test_no_more_calls_are_made_at_once_than_allowed() -> None:
    call = Together(2)
    side_by_side(call, "abcdefg", at_once=2)

    assert call.most == 2


@pytest.mark.parametrize(
    ("items", "at_once"), [("", 9), ("a", 9), ("ab", 9), ("abc", 1)], ids=["none", "one", "two", "one-at-once"]
)
def test_nothing_is_gained_from_threads_for(items: str, at_once: int) -> None:
    assert side_by_side(lambda _: threading.current_thread(), items, at_once=at_once) == (
        [threading.current_thread()] * len(items)
    )


def test_calls_see_the_context_of_the_caller() -> None:
    asked_by: ContextVar[str] = ContextVar("asked_by")
    asked_by.set("a task")

    assert side_by_side(lambda _: asked_by.get(), "abc", at_once=2) == ["a task"] * 3


def test_where_the_first_call_fails_no_other_is_made() -> None:
    made: list[str] = []

    def fail(item: str) -> None:
        made.append(item)
        raise LookupError(item)

    with pytest.raises(LookupError, match="a"):
        side_by_side(fail, "abcdef", at_once=5)
    assert made == ["a"]


def test_after_a_call_that_fails_no_other_begins() -> None:
    made: list[str] = []
    both = threading.Barrier(2, timeout=LONGEST)

    def fail(item: str) -> None:
        made.append(item)
        if item != "a":
            both.wait()
            raise LookupError(item)

    with pytest.raises(LookupError):
        side_by_side(fail, "abcdefghij", at_once=2)
    assert sorted(made) == ["a", "b", "c"]


A_CALL_HANGS = """
import threading
from airflow_config_providers.core.concurrency.workers import side_by_side
begun = threading.Event()
def hang(item):
    if item == "c":
        begun.set()
        threading.Event().wait()
    elif item == "b":
        begun.wait()
        raise SystemExit
try:
    side_by_side(hang, "abc", at_once=3)
except SystemExit:
    print("done")
"""


def test_a_call_that_hangs_keeps_no_process_from_ending() -> None:
    """As where the deadline of a task is over: the threads of an executor would be joined before the process ends."""
    command = [sys.executable, "-c", A_CALL_HANGS]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=False)

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "done\n", "")
