from __future__ import annotations

import operator
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from airflow_config_providers.core.concurrency.timetable import Timetable
from airflow_config_providers.testing import FakeClock
from tests import limits


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(100.0)


@pytest.fixture
def table(clock: FakeClock) -> Timetable:
    return Timetable("test", clock, start=lambda _: None)


def test_nothing_is_made_before_its_time(table: Timetable, clock: FakeClock) -> None:
    done: list[float] = []
    table.add("a", 110, lambda: done.append(clock.now))
    clock.sleep(9.9)
    table.run_due()
    assert done == []
    clock.sleep(0.1)
    table.run_due()
    assert done == [110]


def test_it_is_made_again_when_it_says(table: Timetable, clock: FakeClock) -> None:
    done: list[float] = []

    def call() -> float | None:
        done.append(clock.now)
        return clock.now + 5 if len(done) < 3 else None

    table.add("a", 100, call)
    for _ in range(20):
        table.run_due()
        clock.sleep(1)
    assert done == [100, 105, 110]


def test_what_was_dropped_is_made_no_more(table: Timetable) -> None:
    done: list[int] = []
    table.add("a", 0, lambda: done.append(1))
    table.drop("a")
    table.run_due()
    assert done == []


def test_what_is_dropped_while_it_is_made_does_not_come_back(table: Timetable, clock: FakeClock) -> None:
    done: list[int] = []

    def call() -> float:
        done.append(1)
        table.drop("a")
        return clock.now + 1

    table.add("a", 0, call)
    clock.sleep(10)
    table.run_due()
    clock.sleep(10)
    table.run_due()
    assert done == [1]


def test_one_that_fails_keeps_no_other_from_being_made_and_tells_no_text(
    table: Timetable, caplog: pytest.LogCaptureFixture
) -> None:
    done: list[int] = []

    def fail() -> float:
        raise ValueError("hunter2")

    table.add("a", 0, fail)
    table.add("b", 0, lambda: done.append(1))
    table.run_due()
    assert done == [1]
    assert "ValueError" in caplog.text
    assert "hunter2" not in caplog.text


def test_a_thread_is_there_only_while_something_waits() -> None:
    before = set(threading.enumerate())
    table, made = Timetable("test"), threading.Event()
    table.add("later", time.monotonic() + 3600, lambda: None)
    table.add("now", 0, made.set)
    assert made.wait(limits.LONGEST)
    (thread,) = set(threading.enumerate()) - before
    assert thread.name == "test"
    table.clear()
    thread.join(limits.LONGEST)
    assert not thread.is_alive()


def test_a_call_is_made_earlier_when_hastened_and_never_later(table: Timetable, clock: FakeClock) -> None:
    done: list[float] = []
    table.add("a", 200, lambda: done.append(clock.now))
    table.hasten("a", 101)
    table.hasten("a", 300)
    table.hasten("unknown", 0)
    clock.sleep(1)
    table.run_due()
    assert done == [101]


def test_a_call_that_is_hastened_while_it_is_made_is_made_again(table: Timetable, clock: FakeClock) -> None:
    done: list[float] = []

    def call() -> float:
        done.append(clock.now)
        if len(done) == 1:
            table.hasten("a", clock.now + 1)
        return clock.now + 1000

    table.add("a", 100, call)
    table.run_due()
    clock.sleep(1)
    table.run_due()
    assert done == [100, 101]


def test_it_is_a_timer_for_a_scheduler(table: Timetable, clock: FakeClock) -> None:
    done: list[float] = []
    table.schedule(1500, lambda: done.append(clock.now))
    table.schedule(500, lambda: done.append(clock.now)).cancel()
    clock.sleep(1.5)
    table.run_due()
    clock.sleep(100)
    table.run_due()
    assert done == [101.5]


def test_what_a_timers_callback_returns_is_no_time_to_call_it_again(table: Timetable, clock: FakeClock) -> None:
    done: list[float] = []

    def call() -> Any:
        done.append(clock.now)
        return clock.now + 1

    table.schedule(500, call)
    clock.sleep(0.5)
    table.run_due()
    clock.sleep(100)
    table.run_due()
    assert done == [100.5]


def test_calls_are_made_in_the_order_of_their_times(table: Timetable, clock: FakeClock) -> None:
    done: list[int] = []
    for at in (130, 110, 120, 110):
        table.add(object(), at, lambda at=at: done.append(at))  # type: ignore[misc]
    clock.sleep(30)
    table.run_due()
    assert done == [110, 110, 120, 130]


def test_what_was_moved_or_dropped_often_takes_no_room(table: Timetable, clock: FakeClock) -> None:
    done: list[float] = []
    table.add("kept", 500, lambda: done.append(clock.now))
    for number in range(10_000):
        table.add("moved", 1_000_000 + number, lambda: None)
        table.add(number, 1_000_000, lambda: None)
        table.drop(number)
    assert len(table._turns) < 200
    clock.sleep(400)
    table.run_due()
    assert done == [500]


class Moment(float):
    """A time that counts how often it is compared, which says more than seconds on a busy machine."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        return self._is(operator.eq, other)

    def __lt__(self, other: object) -> bool:
        return self._is(operator.lt, other)

    def __le__(self, other: object) -> bool:
        return self._is(operator.le, other)

    def __gt__(self, other: object) -> bool:
        return self._is(operator.gt, other)

    __hash__ = float.__hash__

    def _is(self, compare: Callable[[float, object], bool], other: object) -> bool:
        Moment.compared += 1
        return compare(float(self), float(other) if isinstance(other, Moment) else other)


def test_many_that_wait_do_not_slow_each_other(table: Timetable, clock: FakeClock) -> None:
    for _ in range(1000):
        table.add(object(), Moment(1000), lambda: None)
    table.add("due", Moment(101), lambda: None)
    clock.sleep(1)
    Moment.compared = 0
    table.run_due()
    assert 0 < Moment.compared < 100


def test_an_error_that_ends_programs_ends_no_other_call(table: Timetable, caplog: pytest.LogCaptureFixture) -> None:
    done: list[int] = []

    def fail() -> float:
        raise SystemExit("hunter2")

    table.add("fails", 0, fail)
    table.add("next", 1, lambda: done.append(1))
    table.run_due()

    assert done == [1]
    assert "SystemExit" in caplog.text
    assert "hunter2" not in caplog.text


def test_after_a_thread_could_not_be_started_the_next_call_starts_one(clock: FakeClock) -> None:
    started: list[Callable[[], None]] = []

    def start(run: Callable[[], None]) -> None:
        started.append(run)
        if len(started) == 1:
            raise RuntimeError("can't start new thread")

    table = Timetable("test", clock, start)
    with pytest.raises(RuntimeError):
        table.add("a", 0, lambda: None)
    table.add("b", 0, lambda: None)

    assert len(started) == 2


def test_a_call_that_waits_for_want_of_a_thread_gets_one_when_it_is_ensured_again() -> None:
    started: list[Callable[[], None]] = []

    def start(run: Callable[[], None]) -> None:
        started.append(run)
        if len(started) == 1:
            raise RuntimeError("can't start new thread")

    table = Timetable("test", start=start)
    with pytest.raises(RuntimeError):
        table.ensure("a", 0, lambda: None)
    table.ensure("a", 0, lambda: None)

    assert len(started) == 2


def test_a_thread_that_runs_although_its_start_was_interrupted_is_the_only_one() -> None:
    made: list[str] = []
    threads: list[Callable[[], None]] = []

    def start(run: Callable[[], None]) -> None:
        threads.append(run)
        if len(threads) == 1:
            raise KeyboardInterrupt  # as a timeout of the task can be raised

    table = Timetable("test", lambda: 1.0, start)
    with pytest.raises(KeyboardInterrupt):
        table.add("a", 0, lambda: made.append("a"))
    table.add("b", 0, lambda: made.append("b"))

    threads[0]()
    assert made == []
    threads[1]()
    assert made == ["a", "b"]
