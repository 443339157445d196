"""Retries changes with which other writers interfered."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import count
from typing import Final, TypeVar

from airflow_config_providers.dynamic.store import ConfigStore, TurnTaking
from airflow_config_providers.exceptions import ProviderUnavailableError

_T = TypeVar("_T")

UNGUARDED: Final = 2
"""The number of attempts without a lock. After them, a writer takes a turn; otherwise it might never succeed."""

_ATTEMPTS: Final = 200
_SHORTEST_WAIT: Final = 0.01
_LONGEST_WAIT: Final = 0.25
"""Seconds. An attempt takes about ten milliseconds, so a dozen others finish in that time."""


@dataclass(frozen=True, slots=True)
class Attempts:
    """
    Retries a change of a store until nobody interferes.

    :param sleep: waits before the next attempt
    """

    store: ConfigStore
    sleep: Callable[[float], None]

    def until_done(self, attempt: Callable[[ConfigStore], _T | None], names: Collection[str]) -> _T:
        """
        Return the first result of ``attempt`` that is not None.

        :param attempt: makes the change in the store that it gets
        :param names: the names that it writes
        :raises ProviderUnavailableError: all results were None
        """
        from tenacity import RetryError, Retrying, retry_if_result, stop_after_attempt, wait_random_exponential  # noqa: PLC0415 - slow

        retrying = Retrying(
            stop=stop_after_attempt(_ATTEMPTS),
            wait=wait_random_exponential(_SHORTEST_WAIT, max=_LONGEST_WAIT),
            retry=retry_if_result(lambda result: result is None),
            sleep=self.sleep,
        )
        numbers = count()
        try:
            done = retrying(lambda: self._once(attempt, names, is_guarded=next(numbers) >= UNGUARDED))
        except RetryError:
            done = None
        if done is None:
            raise ProviderUnavailableError(
                "Others keep changing the same configuration. Nothing was changed: try again later."
            )
        return done

    def _once(
        self, attempt: Callable[[ConfigStore], _T | None], names: Collection[str], *, is_guarded: bool
    ) -> _T | None:
        with self._turn(names) if is_guarded else nullcontext(self.store) as store:
            return attempt(store)

    def _turn(self, names: Collection[str]) -> AbstractContextManager[ConfigStore]:
        return self.store.turn(names) if isinstance(self.store, TurnTaking) else nullcontext(self.store)
