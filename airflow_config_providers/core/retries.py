"""Retries of the calls of providers that are unavailable, with increasing waits."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from airflow_config_providers.exceptions import ProviderUnavailableError

if TYPE_CHECKING:
    from tenacity import RetryCallState

_P = ParamSpec("_P")
_T = TypeVar("_T")

_FIRST_WAIT: Final = 0.4
_FACTOR: Final = 3
"""How many times longer each wait is than the one before; four take 16 seconds, long enough for Vault to restart."""
_SPAN: Final = 15.0
"""Seconds after which a call is not retried, unless the provider says when to retry."""
_LONGEST_WAIT: Final = 60.0
"""Longest wait in seconds, even if the provider asks for a longer one."""


class Retries:
    """
    Retries the calls of one fetch.

    :param attempts: how often a call is made at most
    :param sleep: waits for a number of seconds
    :param clock: returns monotonic seconds
    :param until: time after which there are no more retries
    """

    def __init__(
        self, attempts: int, *, sleep: Callable[[float], None], clock: Callable[[], float], until: float
    ) -> None:
        self._attempts = attempts
        self._sleep = sleep
        self._clock = clock
        self._until = until
        self._given_up: set[str] = set()

    def run(self, name: str, call: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """
        Return the result of ``call``, after several attempts if necessary.

        After a call for ``name`` has used up its attempts, other calls for it get one attempt each.

        :param name: name of the provider
        :raises ProviderUnavailableError: the provider could not answer, even at the last attempt
        """
        if self._attempts == 1:
            return call(*args, **kwargs)
        is_enough = partial(self._is_enough, name, self._clock())
        try:
            return call(*args, **kwargs)
        except ProviderUnavailableError as error:
            first = [error]
        from tenacity import Retrying, retry_if_exception_type  # noqa: PLC0415 - a slow import that only retries need

        retry = retry_if_exception_type(ProviderUnavailableError)
        retrying = Retrying(retry=retry, stop=is_enough, wait=_wait, sleep=self._sleep, reraise=True)
        answer: _T = retrying(_call, first, call, *args, **kwargs)
        return answer

    def _is_enough(self, name: str, started: float, state: RetryCallState) -> bool:
        """Decide after a failed attempt whether it was the last."""
        now = self._clock()
        is_over = now - started >= _SPAN and _retry_after(state) is None
        is_too_late = now + state.upcoming_sleep > self._until
        if state.attempt_number >= self._attempts or is_over or is_too_late:
            self._given_up.add(name)
        return name in self._given_up


def _call(failed: list[ProviderUnavailableError], call: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Make ``call``; but first raise what it has ``failed`` with, which counts as an attempt."""
    if failed:
        raise failed.pop()
    return call(*args, **kwargs)


def _wait(state: RetryCallState) -> float:
    import random  # noqa: PLC0415 - slow to import, and most answers come at once

    spread = random.uniform(0.8, 1.2)  # noqa: S311 - spreads load and guards nothing
    own: float = _FIRST_WAIT * _FACTOR ** (state.attempt_number - 1) * spread
    return max(own, min(_retry_after(state) or 0.0, _LONGEST_WAIT))


def _retry_after(state: RetryCallState) -> float | None:
    error = state.outcome.exception() if state.outcome is not None else None
    return error.retry_after if isinstance(error, ProviderUnavailableError) else None
