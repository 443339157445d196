"""Ask providers: one request for each provider and path, paths side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import ParamSpec, TypeVar, cast

from airflow_config_providers.core.data import ConfigData
from airflow_config_providers.core.provider import BatchConfigProvider, ConfigProvider
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ProviderLookupError, ProviderUnavailableError

Place = tuple[str, str]
"""A provider's name and a path."""

Outcome = ConfigData | Exception
"""What a provider said about a place."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Answers:
    """
    What the providers said.

    :param data: place -> key -> value
    :param ttls: place -> milliseconds, where the provider gave a ttl that is not negative
    :param failures: place -> why there is no answer
    """

    data: Mapping[Place, Mapping[str, str]] = field(repr=False)
    ttls: Mapping[Place, int]
    failures: Mapping[Place, Exception]

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
    :param attempts: how often an unavailable provider is asked, with exponential waits and jitter between
    :param sleep: waits so many seconds
    """

    providers: Mapping[str, ConfigProvider]
    max_workers: int = 32
    attempts: int = 1
    sleep: Callable[[float], None] = time.sleep

    def fetch(self, wanted: Mapping[Place, Collection[str]]) -> Answers:
        """
        Ask once for each place, with all its keys. A failure is part of the answer and not raised.

        A ``BatchConfigProvider`` is asked for all its paths at once. Providers that are asked in other threads see
        the caller's context variables.
        """
        known = {place: keys for place, keys in wanted.items() if place[0] in self.providers}
        if len(known) < 2:
            return _answers({place: self._ask(place, keys) for place, keys in known.items()})
        return _answers(self._ask_side_by_side(known))

    def _ask_side_by_side(self, wanted: Mapping[Place, Collection[str]]) -> dict[Place, Outcome]:
        batches = self._batches(wanted)
        alone = [place for place in wanted if place[0] not in batches]
        with ThreadPoolExecutor(min(self.max_workers, len(wanted)), "config-provider") as pool:
            try:
                together = [_start(pool, self._ask_together, *batch) for batch in batches.items()]
                asked = {place: _start(pool, self._ask, place, wanted[place]) for place in alone}
                found = {place: outcome for batch in together for place, outcome in batch.result().items()}
                left_out = [place for place in wanted if place not in found and place not in asked]
                asked |= {place: _start(pool, self._ask, place, wanted[place]) for place in left_out}
                return {place: found[place] if place in found else asked[place].result() for place in wanted}
            finally:
                pool.shutdown(wait=False, cancel_futures=True)  # an interrupt waits for what runs, not for the rest

    def _batches(self, wanted: Mapping[Place, Collection[str]]) -> dict[str, dict[str, Collection[str]]]:
        """Give path -> keys for each provider that reads its several paths together."""
        batches: dict[str, dict[str, Collection[str]]] = {}
        for (name, path), keys in wanted.items():
            if isinstance(self.providers[name], BatchConfigProvider):
                batches.setdefault(name, {})[path] = frozenset(keys)
        return {name: batch for name, batch in batches.items() if len(batch) > 1}

    def _ask_together(self, name: str, wanted: Mapping[str, Collection[str]]) -> dict[Place, Outcome]:
        batch = _Batch(cast(BatchConfigProvider, self.providers[name]), wanted)
        try:
            self._retried(batch.ask)
        except Exception as error:  # noqa: BLE001 - a third party's provider may raise anything; it is kept, not lost
            batch.give_up(error)
        return {(name, path): _checked((name, path), outcome) for path, outcome in batch.found.items()}

    def _ask(self, place: Place, keys: Collection[str]) -> Outcome:
        name, path = place
        try:
            return _checked(place, self._retried(self.providers[name].get, path, frozenset(keys)))
        except Exception as error:  # noqa: BLE001 - a third party's provider may raise anything; it is kept, not lost
            return error

    def _retried(self, call: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        if self.attempts == 1:
            return call(*args, **kwargs)
        from tenacity import (  # noqa: PLC0415 - a slow import that only retries need
            Retrying,
            retry_if_exception_type,
            stop_after_attempt,
            wait_random_exponential,
        )

        retrying = Retrying(
            retry=retry_if_exception_type(ProviderUnavailableError),
            stop=stop_after_attempt(self.attempts),
            wait=wait_random_exponential(multiplier=0.2, max=5),
            sleep=self.sleep,
            reraise=True,
        )
        return retrying(call, *args, **kwargs)


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


def _start(pool: ThreadPoolExecutor, call: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
    context = copy_context()
    return pool.submit(lambda: context.run(call, *args, **kwargs))


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
    return ConfigData(found, answer.ttl)


def _answers(outcomes: Mapping[Place, Outcome]) -> Answers:
    good = {place: outcome for place, outcome in outcomes.items() if isinstance(outcome, ConfigData)}
    return Answers(
        data={place: answer.data for place, answer in good.items()},
        ttls={place: answer.ttl for place, answer in good.items() if answer.ttl is not None and answer.ttl >= 0},
        failures={place: outcome for place, outcome in outcomes.items() if isinstance(outcome, Exception)},
    )
