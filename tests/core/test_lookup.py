"""Waiting for a provider that is unavailable."""

from __future__ import annotations

from airflow_config_providers.core.lookup import Lookup
from airflow_config_providers.exceptions import AccessDeniedError, ProviderUnavailableError
from airflow_config_providers.testing import FakeClock, InMemoryConfigProvider


def ask(error, clock):
    provider = InMemoryConfigProvider(error=error)
    answers = Lookup({"p": provider}, attempts=4, sleep=clock.sleep).fetch({("p", ""): {"k"}})
    return answers, len(provider.calls)


def test_between_attempts_it_waits_and_not_for_long():
    clock = FakeClock()
    answers, calls = ask(ProviderUnavailableError("down"), clock)

    assert calls == 4
    assert isinstance(answers.failures["p", ""], ProviderUnavailableError)
    assert 0 < clock.now <= 15


def test_what_was_denied_is_not_asked_for_again():
    clock = FakeClock()
    _, calls = ask(AccessDeniedError("no"), clock)

    assert (calls, clock.now) == (1, 0)
