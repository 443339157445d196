"""Calls that are waited for only so long."""

from __future__ import annotations

import threading
from contextvars import ContextVar

import pytest

from airflow_config_providers.core.concurrency.timed_calls import call_each
from airflow_config_providers.exceptions import ConfigException
from tests.limits import LONGEST

ASKED_BY = ContextVar("asked_by", default="nobody")


def fail() -> None:
    raise ConfigException("One is wrong. Correct it.", "So is another.")


def end() -> None:
    raise SystemExit("c4nary")


def test_each_call_has_the_outcome_of_its_name():
    ended = call_each({"good": lambda: 1, "bad": fail, "foreign": end}, patience=LONGEST)

    assert ended["good"].value == 1
    assert ended["bad"].problems == ("One is wrong. Correct it.", "So is another.")
    assert ended["foreign"].failure.startswith("SystemExit in ")


def test_all_calls_are_made_at_the_same_time():
    together = threading.Barrier(3)

    ended = call_each(dict.fromkeys("abc", together.wait), patience=LONGEST)

    assert sorted(outcome.value for outcome in ended.values()) == [0, 1, 2]


def test_a_call_that_hangs_is_late_and_keeps_no_other_from_its_outcome():
    goes_on = threading.Event()

    ended = call_each({"hangs": goes_on.wait, "good": lambda: 1}, patience=0.2)
    goes_on.set()

    assert (ended["hangs"].is_late, ended["good"].value) == (True, 1)


def test_a_call_sees_the_context_of_its_caller():
    token = ASKED_BY.set("the server")
    ended = call_each({"": ASKED_BY.get}, patience=LONGEST)
    ASKED_BY.reset(token)

    assert ended[""].value == "the server"


@pytest.fixture
def no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """No thread can be started."""

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)


@pytest.mark.usefixtures("no_thread")
def test_without_a_thread_a_call_that_could_hang_is_not_made():
    made = []

    (outcome,) = call_each({"": lambda: made.append(1)}, patience=LONGEST).values()

    assert made == []
    assert outcome.problems == (
        "No more threads can be started here. End other processes, or raise the limit of processes of this user.",
    )


@pytest.mark.usefixtures("no_thread")
def test_without_a_thread_a_call_that_has_all_the_time_it_needs_is_made():
    assert call_each({"": lambda: 1}, patience=None)[""].value == 1
