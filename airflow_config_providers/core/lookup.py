"""Ask providers: one request for each provider and path, paths side by side."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass, field, replace
from typing import TypeVar, cast

from airflow_config_providers.core.data import ConfigData
from airflow_config_providers.core.on_demand import ProvidersOnDemand
from airflow_config_providers.core.provider import BatchConfigProvider, ConfigProvider
from airflow_config_providers.core.retries import Retries
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.workers import Workers
from airflow_config_providers.exceptions import ConfigProvidersError, ProviderLookupError, ProviderUnavailableError

Place = tuple[str, str]
"""A provider's name and a path."""

Outcome = ConfigData | Exception
"""What a provider said about a place."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Answers:
    """
    What the providers said.

    :param data: place -> key -> value
    :param ttls: place -> milliseconds, where the provider gave a ttl that is not negative
    :param failures: place -> why there is no answer
    :param absences: place -> why there is nothing, where the provider said so
    :param denials: place -> key -> why the provider does not give it
    """

    data: Mapping[Place, Mapping[str, str]] = field(repr=False)
    ttls: Mapping[Place, int]
    failures: Mapping[Place, Exception]
    absences: Mapping[Place, str] = field(default_factory=dict)
    denials: Mapping[Place, Mapping[str, str]] = field(default_factory=dict)

    def value(self, provider: str, path: str, key: str) -> str | None:
        """Give the value of a reference; None where nobody gave one."""
        found = self.data.get((provider, path))
        return None if found is None else found.get(key)


@dataclass(frozen=True, slots=True)
class Lookup:
    """
    Fetches what references want.

    :param providers: name -> provider; a place of an unknown provider is not asked for
    :param max_workers: how many paths are read at once
    :param attempts: how often an unavailable provider is asked, with longer and longer waits between
    :param sleep: waits so many seconds
    :param timeout: seconds for all of it; None for as long as it takes
    :param clock: seconds, monotonic
    :param in_callers_thread: ask for one place after another, in the caller's thread; a call that hangs is waited for,
        and once the time is over nothing more is asked
    """

    providers: Mapping[str, ConfigProvider]
    max_workers: int = 32
    attempts: int = 1
    sleep: Callable[[float], None] = time.sleep
    timeout: float | None = None
    clock: Callable[[], float] = time.monotonic
    in_callers_thread: bool = False

    def fetch(self, wanted: Mapping[Place, Collection[str]]) -> Answers:
        """
        Ask once for each place, with all its keys. A failure is part of the answer and not raised.

        A ``BatchConfigProvider`` is asked for all its paths at once. Providers are asked in other threads, which see
        the caller's context variables. Without a timeout, a single place is asked for in the caller's thread.

        Those of ``ProvidersOnDemand`` are opened before, in the same time.

        :raises ProviderDefinitionError: a provider cannot be made from its definition
        :raises ProviderLookupError: a provider was refused, could not connect, or was not ready in time
        """
        fetch = _Fetch(self, {place: keys for place, keys in wanted.items() if place[0] in self.providers})
        return _answers(fetch.outcomes())


class _Fetch:
    """One fetch. Whatever the providers do, it ends when its time is over."""

    def __init__(self, lookup: Lookup, wanted: Mapping[Place, Collection[str]]) -> None:
        self._lookup = lookup
        self._wanted = wanted
        self._until = math.inf if lookup.timeout is None else lookup.clock() + lookup.timeout
        self._retries = Retries(lookup.attempts, sleep=lookup.sleep, clock=lookup.clock, until=self._until)

    def outcomes(self) -> dict[Place, Outcome]:
        """Give what each place has come to."""
        self._open()
        if self._lookup.in_callers_thread or (self._lookup.timeout is None and len(self._wanted) < 2):
            return {place: self._late(place[0]) if self._is_over() else self._ask(place) for place in self._wanted}
        with Workers(self._lookup.max_workers) as workers:
            return self._side_by_side(workers)

    def _open(self) -> None:
        providers = self._lookup.providers
        if isinstance(providers, ProvidersOnDemand):
            is_bounded = self._until < math.inf and not self._lookup.in_callers_thread
            names = {name for name, _ in self._wanted}
            providers.open_named(names, wait=self._wait_until_open if is_bounded else None)

    def _wait_until_open(self, name: str, opening: Future[object]) -> None:
        done, _ = wait([opening], self._seconds_left())
        if not done:
            raise self._late(name)
        if error := opening.exception():  # two threads that raise the same one would mix up its tracebacks
            raise error.again() if isinstance(error, ConfigProvidersError) else error

    def _side_by_side(self, workers: Workers) -> dict[Place, Outcome]:
        batches = self._batches()
        together = [(batch, workers.start(self._ask_together, *batch)) for batch in batches.items()]
        asked = {place: workers.start(self._ask, place) for place in self._wanted if place[0] not in batches}
        found: dict[Place, Outcome] = {}
        for (name, paths), batch in together:
            answers = self._in_time(batch)
            found |= {(name, path): self._late(name) for path in paths} if answers is None else answers
        left_out = [place for place in self._wanted if place not in found and place not in asked]
        asked |= {place: workers.start(self._ask, place) for place in left_out}
        found |= {place: self._in_time(answer) or self._late(place[0]) for place, answer in asked.items()}
        return {place: found[place] for place in self._wanted}

    def _batches(self) -> dict[str, dict[str, Collection[str]]]:
        """Give path -> keys for each provider that reads its several paths together."""
        batches: dict[str, dict[str, Collection[str]]] = {}
        for (name, path), keys in self._wanted.items():
            if isinstance(self._lookup.providers[name], BatchConfigProvider):
                batches.setdefault(name, {})[path] = frozenset(keys)
        return {name: batch for name, batch in batches.items() if len(batch) > 1}

    def _ask_together(self, name: str, wanted: Mapping[str, Collection[str]]) -> dict[Place, Outcome]:
        batch = _Batch(cast(BatchConfigProvider, self._lookup.providers[name]), wanted)
        try:
            self._retries.run(name, batch.ask)
        except Exception as error:  # noqa: BLE001 - a third party's provider may raise anything; it is kept, not lost
            batch.give_up(error)
        return {(name, path): _checked((name, path), outcome) for path, outcome in batch.found.items()}

    def _ask(self, place: Place) -> Outcome:
        name, path = place
        try:
            get, keys = self._lookup.providers[name].get, frozenset(self._wanted[place])
            return _checked(place, self._retries.run(name, get, path, keys))
        except Exception as error:  # noqa: BLE001 - a third party's provider may raise anything; it is kept, not lost
            return error

    def _in_time(self, answer: Future[_T]) -> _T | None:
        """Give the answer once it is there; None where the time is over before."""
        try:
            return answer.result(self._seconds_left())
        except TimeoutError:  # of the wait: what a provider raises is an outcome
            return None

    def _seconds_left(self) -> float | None:
        return None if self._until == math.inf else max(0.0, self._until - self._lookup.clock())

    def _is_over(self) -> bool:
        return self._lookup.clock() >= self._until

    def _late(self, name: str) -> ProviderUnavailableError:
        return ProviderUnavailableError(
            f"Provider '{printable(name)}' gave no answer within {self._lookup.timeout:g} seconds, which is all the "
            f"time that resolving a configuration has. Try again later, or raise resolve_timeout in [config_providers]."
        )


class _Batch:
    """Paths of one provider that are asked for together, those that it could not answer again and again."""

    def __init__(self, provider: BatchConfigProvider, wanted: Mapping[str, Collection[str]]) -> None:
        self.found: dict[str, Outcome] = {}
        self._provider = provider
        self._open = wanted

    def ask(self) -> None:
        """
        Ask for what is open.

        :raises ProviderUnavailableError: some of it has no answer yet
        """
        answers = self._provider.get_batch(self._open)
        self.found.update({path: answers[path] for path in self._open if path in answers})
        down = {path: error for path, error in answers.items() if isinstance(error, ProviderUnavailableError)}
        self._open = {path: keys for path, keys in self._open.items() if path in down}
        for path in self._open:
            raise down[path]

    def give_up(self, error: Exception) -> None:
        """Let ``error`` be the outcome where there is none."""
        for path in self._open:
            self.found.setdefault(path, error)


def _checked(place: Place, outcome: Outcome) -> Outcome:
    if isinstance(outcome, Exception):
        return outcome
    try:
        return _only_text(place, outcome)
    except Exception as error:  # noqa: BLE001 - an answer of a third party's provider may be anything
        return error


def _only_text(place: Place, answer: ConfigData) -> ConfigData:
    if set(map(type, answer.data.values())) <= {str}:
        return answer
    found = {key: value for key, value in answer.data.items() if value is not None}
    odd = sorted(printable(str(k)) for k, v in found.items() if not isinstance(v, str))
    if odd:
        raise ProviderLookupError(
            f"Provider '{printable(place[0])}' answered {', '.join(odd)} with something that is not text. "
            f"A provider gives text only; correct the provider."
        )
    return replace(answer, data=found)


def _answers(outcomes: Mapping[Place, Outcome]) -> Answers:
    good = {place: outcome for place, outcome in outcomes.items() if isinstance(outcome, ConfigData)}
    return Answers(
        data={place: answer.data for place, answer in good.items()},
        ttls={place: answer.ttl for place, answer in good.items() if answer.ttl is not None and answer.ttl >= 0},
        failures={place: outcome for place, outcome in outcomes.items() if isinstance(outcome, Exception)},
        absences={place: answer.absence for place, answer in good.items() if answer.absence},
        denials={place: answer.denials for place, answer in good.items() if answer.denials},
    )
