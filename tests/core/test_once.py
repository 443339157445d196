"""A call that is made at most once."""

from __future__ import annotations

import threading

from airflow_config_providers.core.closing import Once
from tests.limits import LONGEST


def test_a_call_is_made_once() -> None:
    made: list[int] = []
    once = Once(lambda: made.append(1))
    before = bool(once)
    once()
    once()

    assert (before, bool(once), made) == (True, False, [1])


def test_no_call_does_nothing() -> None:
    once = Once(None)
    once()

    assert not once


def test_one_that_calls_itself_is_made_once() -> None:
    made: list[int] = []

    def call() -> None:
        made.append(1)
        once()

    once = Once(call)
    once()

    assert made == [1]


def test_one_of_many_threads_makes_the_call() -> None:
    made: list[int] = []
    once, start = Once(lambda: made.append(1)), threading.Barrier(8)

    def call() -> None:
        start.wait(LONGEST)
        once()

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert made == [1]
