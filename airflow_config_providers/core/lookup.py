"""Ask providers: one request for each provider and path, paths side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from airflow_config_providers.core.data import ConfigData
from airflow_config_providers.core.provider import ConfigProvider
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ProviderLookupError, ProviderUnavailableError

Place = tuple[str, str]
"""A provider's name and a path."""


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
    max_workers: int = 8
    attempts: int = 1
    sleep: Callable[[float], None] = time.sleep

    def fetch(self, wanted: Mapping[Place, Collection[str]]) -> Answers:
        """Ask once for each place, with all its keys. A failure is part of the answer and not raised."""
        places = [place for place in wanted if place[0] in self.providers]
        if len(places) < 2:
            outcomes = [self._ask(place, wanted[place]) for place in places]
        else:
            with ThreadPoolExecutor(min(self.max_workers, len(places)), "config-provider") as pool:
                outcomes = list(pool.map(lambda place: self._ask(place, wanted[place]), places))
        return _answers(dict(zip(places, outcomes, strict=True)))

    def _ask(self, place: Place, keys: Collection[str]) -> ConfigData | Exception:
        try:
            return _only_text(place, self._get(place, frozenset(keys)))
        except Exception as error:  # noqa: BLE001 - a third party's provider may raise anything; it is kept, not lost
            return error

    def _get(self, place: Place, keys: frozenset[str]) -> ConfigData:
        name, path = place
        if self.attempts == 1:
            return self.providers[name].get(path, keys)
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
        return retrying(self.providers[name].get, path, keys)


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


def _answers(outcomes: Mapping[Place, ConfigData | Exception]) -> Answers:
    good = {place: outcome for place, outcome in outcomes.items() if isinstance(outcome, ConfigData)}
    return Answers(
        data={place: answer.data for place, answer in good.items()},
        ttls={place: answer.ttl for place, answer in good.items() if answer.ttl is not None and answer.ttl >= 0},
        failures={place: outcome for place, outcome in outcomes.items() if isinstance(outcome, Exception)},
    )
