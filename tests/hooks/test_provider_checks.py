"""Providers are asked whether they can answer: side by side, for a limited time, and without reading a secret."""

from __future__ import annotations

import threading
from contextvars import ContextVar

import pytest

from airflow_config_providers.core.provider import ConfigData, ConfigProvider
from airflow_config_providers.exceptions import AccessDeniedError, ProviderUnavailableError
from airflow_config_providers.providers.checks import ask_each, summary
from tests.limits import LONGEST

CANARY = "c4nary-value"
SEEN = ContextVar("SEEN", default="nothing")


class Asked(ConfigProvider):
    """A provider whose check does what the test says, and whose values must not be read."""

    def __init__(self, answer=lambda: None):
        self.answer = answer

    def get(self, path, keys=None):
        raise AssertionError("a value was read")

    def check(self):
        return self.answer()


class WithoutCheck(ConfigProvider):
    def get(self, path, keys=None):
        return ConfigData({})


def fail(error):
    raise error


FAILS = f"{__file__}:{fail.__code__.co_firstlineno + 1}"


@pytest.mark.parametrize(
    ("provider", "outcome"),
    [
        pytest.param(Asked(), (True, "ok"), id="nothing-to-tell"),
        pytest.param(Asked(lambda: "2 allowed paths"), (True, "2 allowed paths"), id="something-to-tell"),
        pytest.param(WithoutCheck(), (None, "the class has no check()"), id="no-check-of-its-own"),
        pytest.param(Asked(lambda: fail(AccessDeniedError("Not", "you."))), (False, "Not; you."), id="denied"),
        pytest.param(Asked(lambda: fail(ProviderUnavailableError("Not now."))), (False, "Not now."), id="unavailable"),
        pytest.param(
            Asked(lambda: fail(KeyError(CANARY))), (False, f"its check failed with KeyError in {FAILS}"), id="a-bug"
        ),
    ],
)
def test_what_a_provider_says_is_told(provider, outcome):
    assert ask_each({"p": provider}) == {"p": outcome}


def test_all_are_asked_at_once():
    both = threading.Barrier(2, timeout=LONGEST)
    providers = {name: Asked(lambda: str(both.wait() >= 0)) for name in "ab"}

    assert ask_each(providers) == {"a": (True, "True"), "b": (True, "True")}


def test_one_that_does_not_tell_in_time_is_one_that_cannot_answer():
    end = threading.Event()
    late = Asked(lambda: end.wait(LONGEST))

    outcomes = ask_each({"late": late, "quick": Asked()}, patience=0.2)
    end.set()

    assert outcomes == {"late": (False, "no answer within 0.2 seconds"), "quick": (True, "ok")}


def test_a_check_sees_what_the_caller_has_in_its_context():
    """Where Airflow keeps the connection that is tested."""
    token = SEEN.set("the connection")
    try:
        assert ask_each({"p": Asked(SEEN.get)}) == {"p": (True, "the connection")}
    finally:
        SEEN.reset(token)


def test_one_that_cannot_answer_makes_it_a_failure():
    outcomes = {"good": (True, "ok"), "bad": (False, "Not now.")}

    assert summary(outcomes, {}) == (False, "good: ok\nbad: Not now.")


def test_one_without_a_check_of_its_own_is_no_failure_and_is_not_called_good():
    assert summary(ask_each({"p": WithoutCheck()}), {}) == (True, "p: not checked, because the class has no check()")


def test_the_name_of_a_provider_breaks_no_line():
    assert "\n" not in summary({"a\nb": (True, "ok")}, {})[1]


def test_no_providers_are_no_failure():
    assert summary({}, {}) == (True, "no providers")
