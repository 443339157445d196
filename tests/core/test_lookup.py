"""Asking providers: again, side by side, and together."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from contextvars import ContextVar

import pytest

from airflow_config_providers.core.data import ConfigData
from airflow_config_providers.core.lookup import Lookup
from airflow_config_providers.core.provider import BatchConfigProvider
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


class Together(BatchConfigProvider):
    """Reads paths together, but not those called ``alone``; ``script`` says what a path gives, one entry a request."""

    def __init__(
        self, script: Mapping[str, Sequence[ConfigData | Exception]], *, error: Exception | None = None
    ) -> None:
        self._script = {path: list(outcomes) for path, outcomes in script.items()}
        self._error = error
        self.batches: list[dict[str, Collection[str]]] = []
        self.asked: list[str] = []

    def get_batch(self, wanted: Mapping[str, Collection[str]]) -> Mapping[str, ConfigData | Exception]:
        self.batches.append(dict(wanted))
        if self._error is not None:
            raise self._error
        return {path: self._script[path].pop(0) for path in wanted if not path.startswith("alone")}

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        self.asked.append(path)
        return ConfigData({"k": path})


def places(*paths: str) -> dict[tuple[str, str], set[str]]:
    return {("p", path): {"k"} for path in paths}


def answer(text: str) -> ConfigData:
    return ConfigData({"k": text})


def test_several_paths_of_a_provider_that_reads_them_together_are_one_request():
    provider = Together({"a": [answer("A")], "b": [answer("B")]})

    answers = Lookup({"p": provider}).fetch(places("a", "b"))

    assert answers.data == {("p", "a"): {"k": "A"}, ("p", "b"): {"k": "B"}}
    assert (provider.batches, provider.asked) == ([{"a": {"k"}, "b": {"k"}}], [])


def test_one_path_is_asked_for_as_ever():
    provider = Together({})

    assert Lookup({"p": provider}).fetch(places("a")).value("p", "a", "k") == "a"
    assert (provider.batches, provider.asked) == ([], ["a"])


def test_one_path_beside_those_of_others_is_asked_for_as_ever():
    provider = Together({})
    other = InMemoryConfigProvider({"x": {"k": "X"}})

    answers = Lookup({"p": provider, "other": other}).fetch(places("a") | {("other", "x"): {"k"}})

    assert answers.data == {("p", "a"): {"k": "a"}, ("other", "x"): {"k": "X"}}
    assert provider.batches == []


def test_paths_that_are_left_out_are_asked_for_one_by_one():
    provider = Together({"a": [answer("A")]})

    answers = Lookup({"p": provider}).fetch(places("alone1", "a", "alone2"))

    assert list(answers.data) == [("p", "alone1"), ("p", "a"), ("p", "alone2")]
    assert [data["k"] for data in answers.data.values()] == ["alone1", "A", "alone2"]
    assert sorted(provider.asked) == ["alone1", "alone2"]


def test_only_what_is_unavailable_is_asked_for_again():
    clock = FakeClock()
    provider = Together({"a": [answer("A")], "b": [ProviderUnavailableError("down"), answer("B")]})

    answers = Lookup({"p": provider}, attempts=3, sleep=clock.sleep).fetch(places("a", "b"))

    assert answers.data == {("p", "a"): {"k": "A"}, ("p", "b"): {"k": "B"}}
    assert [set(batch) for batch in provider.batches] == [{"a", "b"}, {"b"}]


def test_what_stays_unavailable_is_a_failure_of_its_path_alone():
    clock = FakeClock()
    down = ProviderUnavailableError("down")
    provider = Together({"a": [answer("A")], "b": [down, down], "c": [AccessDeniedError("no")]})

    answers = Lookup({"p": provider}, attempts=2, sleep=clock.sleep).fetch(places("a", "b", "c"))

    assert answers.data == {("p", "a"): {"k": "A"}}
    assert {path: str(error) for (_, path), error in answers.failures.items()} == {"b": "down", "c": "no"}
    assert 0 < clock.now < 5


@pytest.mark.parametrize(
    ("error", "requests"),
    [
        pytest.param(ProviderUnavailableError("down"), 3, id="unavailable"),
        pytest.param(AccessDeniedError("no"), 1, id="denied"),
        pytest.param(ValueError("odd"), 1, id="an error that is not ours"),
    ],
)
def test_an_error_of_the_whole_request_is_that_of_every_path(error: Exception, requests: int):
    provider = Together({}, error=error)

    answers = Lookup({"p": provider}, attempts=3, sleep=FakeClock().sleep).fetch(places("a", "b"))

    assert answers.failures == {("p", "a"): error, ("p", "b"): error}
    assert len(provider.batches) == requests


def test_an_answer_that_is_no_text_is_a_failure_of_its_path():
    provider = Together({"a": [ConfigData({"k": 1})], "b": [answer("B")]})  # type: ignore[dict-item]

    answers = Lookup({"p": provider}).fetch(places("a", "b"))

    assert list(answers.failures) == [("p", "a")]
    assert list(answers.data) == [("p", "b")]


class Asking(InMemoryConfigProvider):
    """Notes what a context variable was whenever it is asked."""

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        seen = _who_asks.get()
        _who_asks.set(path)
        return ConfigData({"k": seen})


_who_asks: ContextVar[str] = ContextVar("_who_asks", default="nobody")


def test_providers_in_other_threads_see_the_caller_s_context_and_not_each_other_s():
    token = _who_asks.set("caller")
    try:
        answers = Lookup({"p": Asking()}, max_workers=2).fetch(places(*"abcdefgh"))
    finally:
        _who_asks.reset(token)

    assert {data["k"] for data in answers.data.values()} == {"caller"}


def test_an_interrupt_does_not_wait_for_what_has_not_begun():
    class Interrupting(InMemoryConfigProvider):
        def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
            super().get(path, keys)
            time.sleep(0.001)
            raise KeyboardInterrupt

    provider = Interrupting()
    with pytest.raises(KeyboardInterrupt):
        Lookup({"p": provider}, max_workers=1).fetch(places(*map(str, range(1000))))
    assert len(provider.calls) < 1000
