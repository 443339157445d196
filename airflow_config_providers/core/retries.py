"""Retries of the calls of providers that are unavailable, with increasing waits."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from airflow_config_providers.exceptions import ProviderUnavailableError

if TYPE_CHECKING:
    from tenacity import RetryCallState

_P = ParamSpec("_P")
_T = TypeVar("_T")

_FIRST_WAIT: Final = 0.4
"""Seconds before the second attempt."""
_FACTOR: Final = 3
"""How many times longer each wait is than the one before; four take 16 seconds, long enough for Vault to restart."""
_SPAN: Final = 15.0
"""Seconds after which a call is not retried, unless the provider says when to retry."""
_LONGEST_WAIT: Final = 60.0
"""Longest wait in seconds, even if the provider asks for a longer one."""
_LONGEST_SPREAD: Final = 5.0
"""Most seconds that are added to the wait a provider asks for, so that many processes do not come back together."""


@dataclass(slots=True, repr=False, eq=False)
class _Outage:
    """
    How long one call has failed because the provider does not answer.

    :param since: when that began, by the clock
    :param failures: how often in a row it has failed since then
    :param busy: how often the provider has said when to ask again
    """

    since: float
    failures: int = 0
    busy: int = 0


class Retries:
    """
    Retries the calls of one fetch.

    A provider that says when to ask again is up, but busy. It can be asked until the time is over, however often.

    :param attempts: how often a call is made at most, except to a busy provider
    :param sleep: waits for a number of seconds
    :param clock: returns monotonic seconds
    :param until: time after which there are no more retries; infinity if only the attempts are limited
    :param waits_if_busy: a call to a busy provider is limited by ``until`` instead of ``attempts``
    """

    def __init__(
        self,
        attempts: int,
        *,
        sleep: Callable[[float], None],
        clock: Callable[[], float],
        until: float,
        waits_if_busy: bool,
    ) -> None:
        self._attempts = attempts
        self._sleep = sleep
        self._clock = clock
        self._until = until
        self._waits_if_busy = waits_if_busy and until < math.inf
        self._given_up: set[str] = set()

    def run(self, name: str, call: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """
        Return the result of ``call``, after several attempts if necessary.

        After a call for ``name`` has used up its attempts, other calls for it get one attempt each, unless the provider
        was only busy.

        :param name: name of the provider
        :raises ProviderUnavailableError: the provider could not answer, even at the last attempt
        """
        if self._attempts == 1:
            return call(*args, **kwargs)
        outage = _Outage(self._clock())
        try:
            return call(*args, **kwargs)
        except ProviderUnavailableError as error:
            first = [error]
        from tenacity import Retrying, retry_if_exception_type  # noqa: PLC0415 - a slow import that only retries need

        retry = retry_if_exception_type(ProviderUnavailableError)
        wait, stop = partial(self._wait, outage), partial(self._is_enough, name, outage)
        retrying = Retrying(retry=retry, stop=stop, wait=wait, sleep=self._sleep, reraise=True)
        answer: _T = retrying(_call, first, call, *args, **kwargs)
        return answer

    def _wait(self, outage: _Outage, state: RetryCallState) -> float:
        """Note a failed attempt in ``outage``, before ``_is_enough`` looks there; return the seconds to wait."""
        import random  # noqa: PLC0415 - slow to import, and most answers come at once

        asked = _retry_after(state)
        if asked is None:
            outage.failures += 1
            return _growing(outage.failures) * random.uniform(0.8, 1.2)  # noqa: S311 - spreads load and guards nothing
        outage.busy += 1
        if self._waits_if_busy:
            outage.since, outage.failures = self._clock(), 0
        else:
            outage.failures += 1
        pause = min(max(_FIRST_WAIT, asked), _LONGEST_WAIT)  # what is asked can be negative, or no number
        most = min(_growing(outage.busy), _LONGEST_SPREAD, max(0.0, self._until - self._clock() - pause))
        return pause + random.uniform(0, most)  # noqa: S311 - as above

    def _is_enough(self, name: str, outage: _Outage, state: RetryCallState) -> bool:
        """Decide after a failed attempt whether it was the last."""
        now, is_busy = self._clock(), _retry_after(state) is not None
        is_over = now - outage.since >= _SPAN and not is_busy
        is_too_late = now + state.upcoming_sleep > self._until
        is_last = outage.failures >= self._attempts or is_over or is_too_late
        if is_last and not (is_busy and self._waits_if_busy):
            self._given_up.add(name)
        return is_last or name in self._given_up


def _growing(count: int) -> float:
    """Return the seconds to wait after ``count`` failures."""
    return float(_FIRST_WAIT * _FACTOR ** min(count - 1, 9))


def _call(failed: list[ProviderUnavailableError], call: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Make ``call``; but first raise what it has ``failed`` with, which counts as an attempt."""
    if failed:
        raise failed.pop()
    return call(*args, **kwargs)


def _retry_after(state: RetryCallState) -> float | None:
    error = state.outcome.exception() if state.outcome is not None else None
    return error.retry_after if isinstance(error, ProviderUnavailableError) else None
