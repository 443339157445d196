"""Asking providers: again, side by side, and together."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import pytest

from airflow_config_providers.core.lookup import FetchOptions, Lookup
from airflow_config_providers.core.on_demand import ProvidersOnDemand
from airflow_config_providers.core.provider import BatchConfigProvider, ConfigData
from airflow_config_providers.exceptions import (
    AccessDeniedError,
    ConfigProvidersError,
    ProviderDefinitionError,
    ProviderUnavailableError,
)
from airflow_config_providers.testing import FakeClock, InMemoryConfigProvider
from tests.core.forks import in_child
from tests.limits import LONGEST
from tests.raised import raised_at

VALUE = "c4nary/s3cret+value"


def ask(error, clock):
    provider = InMemoryConfigProvider(error=error)
    answers = Lookup({"p": provider}, FetchOptions(attempts=4), sleep=clock.sleep).fetch({("p", ""): {"k"}})
    return answers, len(provider.calls)


def test_between_attempts_it_waits_and_not_for_long():
    clock = FakeClock()
    answers, calls = ask(ProviderUnavailableError("down"), clock)

    assert calls == 4
    assert isinstance(answers.failures["p", ""], ProviderUnavailableError)
    assert 0 < clock.now <= 15


def test_all_attempts_together_spread_over_the_time_that_a_restart_takes():
    clock = FakeClock()
    provider = InMemoryConfigProvider(error=ProviderUnavailableError("down"))
    Lookup({"p": provider}, FetchOptions(attempts=5), sleep=clock.sleep, clock=clock).fetch(places("a"))

    assert len(provider.calls) == 5
    assert 12 < clock.now < 20


def test_attack_61_a_call_that_takes_long_to_fail_is_made_less_often():
    clock = FakeClock()

    class Slow(InMemoryConfigProvider):
        def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
            clock.sleep(10)
            return super().get(path, keys)

    provider = Slow(error=ProviderUnavailableError("in time"))
    Lookup({"p": provider}, FetchOptions(attempts=5), sleep=clock.sleep, clock=clock).fetch(places("a"))

    assert len(provider.calls) == 2


def test_a_provider_that_says_when_is_asked_then():
    clock = FakeClock()
    provider = InMemoryConfigProvider(error=ProviderUnavailableError("too many requests", retry_after=30))
    Lookup({"p": provider}, FetchOptions(attempts=3, timeout=100), sleep=clock.sleep, clock=clock).fetch(places("a"))

    assert len(provider.calls) == 4
    assert 90 < clock.now < 96


def test_a_provider_that_wants_to_be_left_alone_for_an_hour_is_asked_again_after_a_minute():
    clock = FakeClock()
    provider = InMemoryConfigProvider(error=ProviderUnavailableError("too many requests", retry_after=3600))
    Lookup({"p": provider}, FetchOptions(attempts=3, timeout=200), sleep=clock.sleep, clock=clock).fetch(places("a"))

    assert len(provider.calls) == 4
    assert 180 < clock.now < 186


class Troubled(InMemoryConfigProvider):
    """A provider that fails with each of some errors, path by path, and then answers."""

    def __init__(self, **errors: list[Exception]):
        super().__init__({path: {"k": "v"} for path in errors})
        self.errors = errors

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        self.error = self.errors[path].pop(0) if self.errors[path] else None
        return super().get(path, keys)


BUSY = ProviderUnavailableError("too many requests", retry_after=1)
DOWN = ProviderUnavailableError("down")


@pytest.mark.parametrize(
    "errors", [[BUSY] * 8, [DOWN, BUSY] * 6, [DOWN, DOWN, *[BUSY] * 8, DOWN, DOWN]], ids=["busy", "by turns", "between"]
)
def test_a_provider_that_is_only_busy_is_asked_as_long_as_there_is_time(errors: list[Exception]):
    clock = FakeClock()
    lookup = Lookup(
        {"p": Troubled(a=list(errors))}, FetchOptions(attempts=3, timeout=100), sleep=clock.sleep, clock=clock
    )
    answers = lookup.fetch({("p", "a"): {"k"}})

    assert answers.data == {("p", "a"): {"k": "v"}}
    assert len([error for error in errors if error is BUSY]) < clock.now < 60


@pytest.mark.parametrize("asked", [-30.0, float("nan"), 0.0], ids=["past", "no number", "now"])
def test_a_time_to_wait_that_is_none_is_replaced_by_a_short_one(asked: float):
    busy = ProviderUnavailableError("too many requests", retry_after=asked)
    clock = FakeClock()
    lookup = Lookup(
        {"p": Troubled(a=[busy] * 1000)}, FetchOptions(attempts=3, timeout=10), sleep=clock.sleep, clock=clock
    )
    answers = lookup.fetch(places("a"))

    assert "too many requests" in str(answers.failures["p", "a"])
    assert 1 < clock.now <= 10


def test_a_provider_that_is_only_busy_is_not_asked_for_longer_than_the_timeout():
    clock = FakeClock()
    provider = Troubled(a=[BUSY] * 1000)
    answers = Lookup({"p": provider}, FetchOptions(attempts=3, timeout=60), sleep=clock.sleep, clock=clock).fetch(
        places("a")
    )

    assert "too many requests" in str(answers.failures["p", "a"])
    assert clock.now <= 60


def test_where_nobody_waits_for_a_busy_provider_it_is_asked_as_often_as_another():
    clock = FakeClock()
    provider = Troubled(a=[BUSY] * 9)
    lookup = Lookup(
        {"p": provider},
        FetchOptions(attempts=3, timeout=60, max_workers=1, waits_if_busy=False),
        sleep=clock.sleep,
        clock=clock,
    )
    lookup.fetch(places("a"))

    assert len(provider.calls) == 3


def test_processes_that_are_told_the_same_time_do_not_come_back_together():
    moments = set()
    for _ in range(20):
        clock = FakeClock()
        provider = Troubled(a=[BUSY] * 3)
        Lookup({"p": provider}, FetchOptions(attempts=3, timeout=60), sleep=clock.sleep, clock=clock).fetch(places("a"))
        moments.add(round(clock.now, 1))

    assert len(moments) > 5


def test_a_path_that_is_busy_for_too_long_does_not_make_another_one_give_up():
    clock = FakeClock()
    provider = Troubled(a=[ProviderUnavailableError("too many requests", retry_after=3600)], b=[DOWN])
    lookup = Lookup(
        {"p": provider}, FetchOptions(attempts=3, timeout=30, max_workers=1), sleep=clock.sleep, clock=clock
    )
    answers = lookup.fetch({("p", "a"): {"k"}, ("p", "b"): {"k"}})

    assert list(answers.failures) == [("p", "a")]
    assert answers.data == {("p", "b"): {"k": "v"}}


def test_in_the_callers_thread_places_are_asked_for_one_by_one_until_the_deadline():
    clock = FakeClock()
    threads = []

    class Slow(InMemoryConfigProvider):
        def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
            threads.append(threading.current_thread())
            clock.sleep(10)
            return ConfigData({"k": path})

    lookup = Lookup({"p": Slow()}, FetchOptions(timeout=20, in_callers_thread=True), sleep=clock.sleep, clock=clock)
    answers = lookup.fetch(places("a", "b", "c"))

    assert list(answers.data) == [("p", "a"), ("p", "b")]
    assert "'p' gave no answer within 20 seconds" in str(answers.failures["p", "c"])
    assert threads == [threading.current_thread()] * 2


def test_in_the_callers_thread_nothing_is_asked_again_after_the_deadline():
    clock = FakeClock()
    provider = InMemoryConfigProvider(error=ProviderUnavailableError("too many requests", retry_after=3600))
    lookup = Lookup(
        {"p": provider}, FetchOptions(attempts=5, timeout=100, in_callers_thread=True), sleep=clock.sleep, clock=clock
    )
    lookup.fetch(places("a"))

    assert len(provider.calls) == 2
    assert 60 <= clock.now < 61


def test_a_provider_that_wants_to_be_asked_after_the_deadline_is_not_waited_for():
    clock = FakeClock()
    error = ProviderUnavailableError("too many requests", retry_after=30)
    provider = InMemoryConfigProvider(error=error)
    answers = Lookup({"p": provider}, FetchOptions(attempts=3, timeout=20), sleep=clock.sleep, clock=clock).fetch(
        places("a")
    )

    assert (len(provider.calls), clock.now) == (1, 0)
    assert answers.failures == {("p", "a"): error}


def test_attack_61_once_one_path_is_given_up_the_others_of_its_provider_are_asked_once():
    clock = FakeClock()
    down, other = (InMemoryConfigProvider(error=ProviderUnavailableError("down")) for _ in range(2))
    wanted = places(*map(str, range(200))) | {("other", "a"): {"k"}}
    lookup = Lookup(
        {"p": down, "other": other}, FetchOptions(attempts=5, max_workers=1), sleep=clock.sleep, clock=clock
    )
    answers = lookup.fetch(wanted)

    assert len(answers.failures) == 201
    assert (len(down.calls), len(other.calls)) == (204, 5)
    assert clock.now < 40


class Hanging(InMemoryConfigProvider):
    """Answers for paths called ``good``, and for all others when it is let go."""

    def __init__(self) -> None:
        super().__init__({"good": {"k": "v"}})
        self.let_go = threading.Event()

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        data = super().get(path, keys)
        if path != "good":
            self.let_go.wait()
        return data


class HangingTogether(Hanging, BatchConfigProvider):
    """Hangs for all paths together."""

    def get_batch(self, wanted: Mapping[str, Collection[str]]) -> Mapping[str, ConfigData | Exception]:
        self.let_go.wait()
        return {}


@pytest.mark.parametrize(
    ("provider", "paths", "late"),
    [
        pytest.param(Hanging, ["a"], ["a"], id="one path"),
        pytest.param(Hanging, ["a", "b"], ["a", "b"], id="several paths"),
        pytest.param(Hanging, ["good", "a"], ["a"], id="one path of several"),
        pytest.param(Hanging, ["a", "good"], ["a"], id="the first path of several"),
        pytest.param(HangingTogether, ["a", "b"], ["a", "b"], id="paths that are read together"),
    ],
)
@pytest.mark.parametrize("attempts", [1, 5])
def test_attack_61_what_hangs_is_unavailable_at_the_deadline(
    provider: type[Hanging], paths: list[str], late: list[str], attempts: int
):
    hanging = provider()
    answers = Lookup({"p": hanging}, FetchOptions(attempts=attempts, timeout=0.5)).fetch(places(*paths))
    hanging.let_go.set()

    assert [path for _, path in answers.failures] == late
    assert {type(error) for error in answers.failures.values()} == {ProviderUnavailableError}
    for error in answers.failures.values():
        assert "'p' gave no answer within 0.5 seconds" in str(error)
        assert "resolve_timeout" in str(error)


def test_attack_61_after_the_deadline_no_path_is_asked_for():
    hanging = Hanging()
    before = threads_of_ours()
    Lookup({"p": hanging}, FetchOptions(timeout=0.2, max_workers=2)).fetch(places(*map(str, range(100))))
    late = threads_of_ours() - before
    hanging.let_go.set()
    for thread in late:
        thread.join()

    assert len(hanging.calls) <= 2  # both threads hang, if they came to ask at all


class Opening:
    """Opens a provider when it is released, and counts the openings."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.let_go = threading.Event()
        self.begun: list[str] = []
        self.opened: list[InMemoryConfigProvider] = []
        self._error = error

    def __call__(self, name: str) -> InMemoryConfigProvider:
        self.begun.append(name)
        self.let_go.wait()
        if self._error is not None:
            raise self._error
        self.opened.append(provider := InMemoryConfigProvider({"a": {"k": "v"}}))
        return provider


def threads_of_ours() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "config-provider"}


def test_a_provider_that_hangs_while_it_is_opened_is_unavailable_at_the_deadline():
    opening = Opening()
    before = threads_of_ours()
    lookup = Lookup(ProvidersOnDemand(["p"], opening), FetchOptions(timeout=0.05))
    for _ in range(6):
        with pytest.raises(ProviderUnavailableError, match=r"'p' gave no answer within 0\.05 seconds"):
            lookup.fetch(places("a"))

    hanging = threads_of_ours() - before
    opening.let_go.set()
    for thread in hanging:
        thread.join()
    assert Lookup(lookup.providers, FetchOptions(timeout=LONGEST)).fetch(places("a")).value("p", "a", "k") == "v"
    assert opening.begun == ["p"] * len(hanging) == ["p"] * 4
    assert sorted(provider.closed for provider in opening.opened) == [0, 1, 1, 1]


def test_a_provider_whose_first_opening_never_ends_is_opened_for_the_next_who_asks():
    first, begun, let_go, before = InMemoryConfigProvider(), threading.Event(), threading.Event(), threads_of_ours()
    second = InMemoryConfigProvider({"a": {"k": "v"}})

    def open_(_: str) -> InMemoryConfigProvider:
        if begun.is_set():
            return second
        begun.set()
        let_go.wait()
        return first

    providers = ProvidersOnDemand(["p"], open_)
    with pytest.raises(ProviderUnavailableError):
        Lookup(providers, FetchOptions(timeout=0.01)).fetch(places("a"))
    begun.wait()
    (hanging,) = threads_of_ours() - before

    assert Lookup(providers, FetchOptions(timeout=LONGEST)).fetch(places("a")).value("p", "a", "k") == "v"
    let_go.set()
    hanging.join()
    assert (providers["p"], first.closed, second.closed) == (second, 1, 0)


ONE_OF_EACH = {("a", "x"): {"k"}, ("b", "x"): {"k"}}


def test_with_a_deadline_all_providers_are_opened_at_once():
    both = threading.Barrier(2, timeout=LONGEST)
    providers = ProvidersOnDemand(["a", "b"], lambda _: both.wait() in {0, 1} and InMemoryConfigProvider({"x": {}}))

    assert not Lookup(providers, FetchOptions(timeout=LONGEST)).fetch(ONE_OF_EACH).failures


class HangingOnce:
    """Opens providers; the first opening of each of ``names`` hangs until it is let go."""

    def __init__(self, *names: str) -> None:
        self.let_go = threading.Event()
        self.threads: dict[str, list[threading.Thread]] = {"a": [], "b": []}
        self.begun = {name: threading.Event() for name in self.threads}
        self._hanging = names

    def __call__(self, name: str) -> InMemoryConfigProvider:
        self.threads[name].append(threading.current_thread())
        is_first = not self.begun[name].is_set()
        self.begun[name].set()
        if is_first and name in self._hanging:
            self.let_go.wait()
        return InMemoryConfigProvider({"x": {"k": name}})


def test_a_provider_behind_one_that_hangs_is_opened_all_the_same():
    opening = HangingOnce("a")
    providers = ProvidersOnDemand(["a", "b"], opening)
    with pytest.raises(ProviderUnavailableError, match="'a' gave no answer"):
        Lookup(providers, FetchOptions(timeout=0.05)).fetch(ONE_OF_EACH)
    opening.begun["b"].wait()
    opening.threads["b"][0].join()
    opening.let_go.set()

    assert providers.is_open("b")


def test_all_that_hang_are_opened_once_more_for_the_next_who_asks():
    opening = HangingOnce("a", "b")
    providers = ProvidersOnDemand(["a", "b"], opening)
    with pytest.raises(ProviderUnavailableError):
        Lookup(providers, FetchOptions(timeout=0.01)).fetch(ONE_OF_EACH)
    for begun in opening.begun.values():
        begun.wait()

    assert not Lookup(providers, FetchOptions(timeout=LONGEST)).fetch(ONE_OF_EACH).failures
    opening.let_go.set()


def test_an_error_is_raised_at_once_and_those_that_are_still_being_opened_are_shared():
    opening = HangingOnce("b")

    def open_(name: str) -> InMemoryConfigProvider:
        if name == "a":
            raise AccessDeniedError("no")
        return opening(name)

    providers = ProvidersOnDemand(["a", "b"], open_)
    with pytest.raises(AccessDeniedError):
        Lookup(providers, FetchOptions(timeout=LONGEST)).fetch(ONE_OF_EACH)
    opening.begun["b"].wait()
    with pytest.raises(ProviderUnavailableError, match="'b' gave no answer"):
        Lookup(providers, FetchOptions(timeout=0.01)).fetch({("b", "x"): {"k"}})
    opening.let_go.set()

    assert len(opening.threads["b"]) == 1


@pytest.mark.parametrize("timeout", [None, LONGEST])
def test_all_that_is_wrong_with_definitions_is_told_together(timeout: float | None):
    def open_(name: str) -> InMemoryConfigProvider:
        if name != "b":
            raise ProviderDefinitionError(f"{name} has no url.")
        return InMemoryConfigProvider()

    with pytest.raises(ProviderDefinitionError) as caught:
        Lookup(ProvidersOnDemand("abc", open_), FetchOptions(timeout=timeout)).fetch(
            {(name, ""): {"k"} for name in "cba"}
        )
    assert caught.value.problems == ("a has no url.", "c has no url.")


def test_a_child_that_is_forked_while_a_provider_is_opened_opens_it_itself():
    parent, begun, let_go = os.getpid(), threading.Event(), threading.Event()

    def open_(_: str) -> InMemoryConfigProvider:
        if os.getpid() == parent:
            begun.set()
            let_go.wait()
        return InMemoryConfigProvider({"a": {"k": str(os.getpid())}})

    providers = ProvidersOnDemand(["p"], open_)
    with pytest.raises(ProviderUnavailableError):
        Lookup(providers, FetchOptions(timeout=0.01)).fetch(places("a"))
    begun.wait()
    child = in_child(lambda: Lookup(providers, FetchOptions(timeout=LONGEST)).fetch(places("a")).value("p", "a", "k"))
    let_go.set()

    assert child not in {"", str(parent)}


def test_what_is_opened_after_all_have_gone_is_closed():
    opened = InMemoryConfigProvider()
    let_go = threading.Event()
    before = threads_of_ours()
    providers = ProvidersOnDemand(["p"], lambda name: let_go.wait() and opened)
    with providers, pytest.raises(ProviderUnavailableError):
        Lookup(providers, FetchOptions(timeout=0.1)).fetch(places("a"))
    (opening,) = threads_of_ours() - before
    let_go.set()
    opening.join()

    assert opened.closed == 1


def test_opening_and_asking_have_one_deadline():
    clock = FakeClock()
    provider = InMemoryConfigProvider(error=ProviderUnavailableError("down", retry_after=30))

    def open_slowly(_: str) -> InMemoryConfigProvider:
        clock.sleep(20)
        return provider

    Lookup(
        ProvidersOnDemand(["p"], open_slowly), FetchOptions(attempts=5, timeout=40), sleep=clock.sleep, clock=clock
    ).fetch(places("a"))

    assert len(provider.calls) == 1


@pytest.mark.parametrize("error", [ProviderDefinitionError("p has no url."), AccessDeniedError("no")])
@pytest.mark.parametrize("timeout", [None, LONGEST])
def test_a_provider_that_cannot_be_opened_says_why(error: ConfigProvidersError, timeout: float | None):
    opening = Opening(error)
    opening.let_go.set()
    lookup = Lookup(ProvidersOnDemand(["p", "other"], opening), FetchOptions(timeout=timeout))
    for _ in range(2):
        with pytest.raises(type(error)) as caught:
            lookup.fetch(places("a", "b"))
        assert caught.value.problems == error.problems

    assert opening.begun == ["p", "p"]


def test_in_the_callers_thread_providers_are_opened_there_too():
    threads = []

    def open_here(_: str) -> InMemoryConfigProvider:
        threads.append(threading.current_thread())
        return InMemoryConfigProvider()

    Lookup(ProvidersOnDemand(["p"], open_here), FetchOptions(timeout=LONGEST, in_callers_thread=True)).fetch(
        places("a")
    )

    assert threads == [threading.current_thread()]


def test_what_was_denied_is_not_asked_for_again():
    clock = FakeClock()
    _, calls = ask(AccessDeniedError("no"), clock)

    assert (calls, clock.now) == (1, 0)


class Together(BatchConfigProvider):
    """Reads paths together, but not those called ``alone``; ``script`` says what a path gives, one entry a request."""

    def __init__(
        self, script: Mapping[str, Sequence[ConfigData | Exception]], *, error: BaseException | None = None
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

    answers = Lookup({"p": provider}, FetchOptions(attempts=3), sleep=clock.sleep).fetch(places("a", "b"))

    assert answers.data == {("p", "a"): {"k": "A"}, ("p", "b"): {"k": "B"}}
    assert [set(batch) for batch in provider.batches] == [{"a", "b"}, {"b"}]


def test_what_stays_unavailable_is_a_failure_of_its_path_alone():
    clock = FakeClock()
    down = ProviderUnavailableError("down")
    provider = Together({"a": [answer("A")], "b": [down, down], "c": [AccessDeniedError("no")]})

    answers = Lookup({"p": provider}, FetchOptions(attempts=2), sleep=clock.sleep).fetch(places("a", "b", "c"))

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

    answers = Lookup({"p": provider}, FetchOptions(attempts=3), sleep=FakeClock().sleep).fetch(places("a", "b"))

    assert answers.failures == {("p", "a"): error, ("p", "b"): error}
    assert len(provider.batches) == requests


class Panic(BaseException):
    """What bindings of other languages raise."""


@pytest.mark.parametrize(
    "error", [SystemExit(VALUE), Panic(VALUE), GeneratorExit(VALUE)], ids=lambda e: type(e).__name__
)
@pytest.mark.parametrize("paths", ["a", "ab"], ids=["one path", "several paths"])
@pytest.mark.parametrize("together", [False, True], ids=["one by one", "together"])
def test_attack_19_what_would_end_the_process_is_a_failure_that_shows_no_value(error, paths, together):
    class Ending(InMemoryConfigProvider):
        def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
            raise error

    provider = Together({}, error=error) if together and len(paths) > 1 else Ending()
    answers = Lookup({"p": provider}, FetchOptions(timeout=LONGEST)).fetch(places(*paths))

    assert [str(failure) for failure in answers.failures.values()] == [
        f"Provider 'p' failed at path '{path}' with {type(error).__name__} in {raised_at(error)}. "
        f"Its message is not shown, because it can contain a value. Call the class itself to see it."
        for path in paths
    ]
    assert {failure.__context__ for failure in answers.failures.values()} == {None}


def test_attack_19_nor_while_a_provider_is_opened():
    error = SystemExit(VALUE)
    opening = Opening(error)
    opening.let_go.set()

    with pytest.raises(ProviderDefinitionError) as caught:
        Lookup(ProvidersOnDemand(["p"], opening), FetchOptions(timeout=LONGEST)).fetch(places("a"))

    assert str(caught.value) == f"Provider p: it cannot be configured (SystemExit in {raised_at(error)})."
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


def unavailable() -> ProviderUnavailableError:
    """Return an error of a provider that was raised because of one of a client library."""
    try:
        raise ProviderUnavailableError("down") from ValueError(VALUE)
    except ProviderUnavailableError as error:
        return error


@pytest.mark.parametrize(
    ("provider", "paths"),
    [
        pytest.param(lambda: InMemoryConfigProvider(error=unavailable()), "a", id="one path"),
        pytest.param(lambda: InMemoryConfigProvider(error=unavailable()), "ab", id="several paths"),
        pytest.param(lambda: Together({}, error=unavailable()), "ab", id="together"),
        pytest.param(lambda: Together({"a": [unavailable()], "b": [unavailable()]}), "ab", id="of a path of several"),
    ],
)
def test_of_a_failure_that_is_ours_what_caused_it_is_cut_off(provider, paths):
    """An error of a client library can hold what a server answered."""
    failures = Lookup({"p": provider()}).fetch(places(*paths)).failures.values()

    assert [(str(one), one.__cause__, one.__context__) for one in failures] == [("down", None, None)] * len(paths)


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
        answers = Lookup({"p": Asking()}, FetchOptions(max_workers=2)).fetch(places(*"abcdefgh"))
    finally:
        _who_asks.reset(token)

    assert {data["k"] for data in answers.data.values()} == {"caller"}


def test_an_interrupt_does_not_wait_for_what_has_not_begun():
    interrupted = threading.Event()

    class Interrupting(InMemoryConfigProvider):
        def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
            super().get(path, keys)
            assert len(self.calls) == 1 or interrupted.wait(LONGEST)
            raise KeyboardInterrupt

    provider, before = Interrupting(), threads_of_ours()
    with pytest.raises(KeyboardInterrupt):
        Lookup({"p": provider}, FetchOptions(max_workers=1)).fetch(places(*map(str, range(1000))))
    begun = threads_of_ours() - before
    interrupted.set()
    for thread in begun:
        thread.join()
    assert len(provider.calls) <= 2


def test_a_key_that_a_provider_both_returns_and_refuses_is_refused():
    class Contradicting(InMemoryConfigProvider):
        def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
            return ConfigData({"k": VALUE, "other": "o"}, denials={"k": "not listed."})

    answers = Lookup({"p": Contradicting()}).fetch({("p", ""): {"k", "other"}})

    assert answers.data["p", ""] == {"other": "o"}
    assert answers.denials["p", ""] == {"k": "not listed."}


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        pytest.param({"denials": ["k"]}, "denials", id="a list of denials"),
        pytest.param({"denials": {"k": None}}, "denials", id="a denial without a sentence"),
        pytest.param({"denials": 1}, "denials", id="a number of denials"),
        pytest.param({"absence": ["none"]}, "an absence", id="a list of sentences"),
    ],
)
def test_explanations_of_another_type_are_refused_with_the_name_of_the_provider(parts: dict[str, Any], said: str):
    class Wrong(InMemoryConfigProvider):
        def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
            return ConfigData({"k": VALUE}, **parts)

    answers = Lookup({"p": Wrong()}).fetch({("p", ""): {"k"}})

    assert f"Provider 'p' returned {said} that" in str(answers.failures["p", ""])
    assert VALUE not in str(answers)


class Incomparable(int):
    """A number of a third party that raises an error when it is compared."""

    def __ge__(self, other: object) -> bool:
        raise ValueError(VALUE)


class OddFloat(float):
    """A number of another class than ``float``."""


@pytest.mark.parametrize(
    ("ttl", "expected"),
    [
        pytest.param(Incomparable(5), 5, id="an int that cannot be compared"),
        pytest.param(True, 1, id="bool"),
        pytest.param(OddFloat(5.5), 5.5, id="a float of another class"),
    ],
)
def test_a_ttl_of_an_odd_class_is_taken_as_a_plain_number(ttl: Any, expected: float):
    class Odd(InMemoryConfigProvider):
        def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
            return ConfigData({"k": VALUE}, ttl)

    found = Lookup({"p": Odd()}).fetch({("p", ""): {"k"}}).ttls["p", ""]

    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize("nothing", [None, ""])
def test_an_answer_without_explanations_is_taken(nothing: Any):
    class Silent(InMemoryConfigProvider):
        def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
            return ConfigData({"k": VALUE}, absence=nothing, denials=nothing)

    assert Lookup({"p": Silent()}).fetch({("p", ""): {"k"}}).data["p", ""] == {"k": VALUE}
