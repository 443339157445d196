from __future__ import annotations

import threading
import time

import pytest

from airflow_config_providers.providers.vault.renewal_timer import (
    LONGEST,
    Renewals,
    seconds,
    when_to_renew,
    when_to_retry,
)
from airflow_config_providers.testing import FakeClock
from tests import limits


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(100.0)


@pytest.fixture
def renewals(clock: FakeClock) -> Renewals:
    return Renewals(clock, start=lambda _: None)


def test_nothing_is_renewed_before_its_time(renewals: Renewals, clock: FakeClock) -> None:
    done: list[float] = []
    renewals.add("a", 110, lambda: done.append(clock.now))
    clock.sleep(9.9)
    renewals.run_due()
    assert done == []
    clock.sleep(0.1)
    renewals.run_due()
    assert done == [110]


def test_it_is_renewed_again_when_it_says(renewals: Renewals, clock: FakeClock) -> None:
    done: list[float] = []

    def renew() -> float | None:
        done.append(clock.now)
        return clock.now + 5 if len(done) < 3 else None

    renewals.add("a", 100, renew)
    for _ in range(20):
        renewals.run_due()
        clock.sleep(1)
    assert done == [100, 105, 110]


def test_what_was_dropped_is_renewed_no_more(renewals: Renewals) -> None:
    done: list[int] = []
    renewals.add("a", 0, lambda: done.append(1))
    renewals.drop("a")
    renewals.run_due()
    assert done == []


def test_what_is_dropped_while_it_is_renewed_does_not_come_back(renewals: Renewals, clock: FakeClock) -> None:
    done: list[int] = []

    def renew() -> float:
        done.append(1)
        renewals.drop("a")
        return clock.now + 1

    renewals.add("a", 0, renew)
    clock.sleep(10)
    renewals.run_due()
    clock.sleep(10)
    renewals.run_due()
    assert done == [1]


def test_one_that_fails_keeps_no_other_from_being_renewed_and_tells_no_text(
    renewals: Renewals, caplog: pytest.LogCaptureFixture
) -> None:
    done: list[int] = []

    def fail() -> float:
        raise ValueError("hunter2")

    renewals.add("a", 0, fail)
    renewals.add("b", 0, lambda: done.append(1))
    renewals.run_due()
    assert done == [1]
    assert "ValueError" in caplog.text
    assert "hunter2" not in caplog.text


def test_a_thread_is_there_only_while_something_waits() -> None:
    before = set(threading.enumerate())
    renewals, renewed = Renewals(time.monotonic), threading.Event()
    renewals.add("later", time.monotonic() + 3600, lambda: None)
    renewals.add("now", 0, renewed.set)
    assert renewed.wait(limits.LONGEST)
    (thread,) = set(threading.enumerate()) - before
    assert thread.name == "vault-renewal"
    renewals.clear()
    thread.join(limits.LONGEST)
    assert not thread.is_alive()


def test_the_moment_is_about_two_thirds_and_differs() -> None:
    moments = {when_to_renew(100, 60) for _ in range(50)}
    assert len(moments) > 10
    assert all(136 <= moment <= 142 for moment in moments)


@pytest.mark.parametrize(
    ("now", "expires", "again"),
    [(0, 100, 25), (0, 3, 1), (0, 2, None), (5, 4, None)],
    ids=["far", "near", "end", "past"],
)
def test_a_failed_renewal_is_tried_again_while_there_is_time(now: float, expires: float, again: float | None) -> None:
    assert when_to_retry(now, expires) == again


@pytest.mark.parametrize(
    ("duration", "expected"),
    [
        (60, 60.0),
        (1.5, 1.5),
        (0, 0.0),
        (-1, 0.0),
        (float("nan"), 0.0),
        (10**12, float(LONGEST)),
        (10**400, float(LONGEST)),
        (True, 0.0),
        (None, 0.0),
        ("60", 0.0),
    ],
)
def test_durations_are_seconds_within_reason(duration: object, expected: float) -> None:
    assert seconds(duration) == expected
