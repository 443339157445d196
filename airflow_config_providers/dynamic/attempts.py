"""Tries anew what others interfered with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from airflow_config_providers.exceptions import ProviderUnavailableError

_T = TypeVar("_T")

_ATTEMPTS: Final = 200
_SHORTEST_WAIT: Final = 0.01
_LONGEST_WAIT: Final = 0.25
"""Seconds. An attempt takes about ten milliseconds: a dozen others are out of the way by then."""


def until_nobody_interferes(attempt: Callable[[], _T | None], sleep: Callable[[float], None]) -> _T:
    """
    Give what ``attempt`` gives, as soon as that is not None.

    :param sleep: waits before it is tried anew
    :raises ProviderUnavailableError: it was None each time
    """
    from tenacity import RetryError, Retrying, retry_if_result, stop_after_attempt, wait_random_exponential  # noqa: PLC0415 - slow

    retrying = Retrying(
        stop=stop_after_attempt(_ATTEMPTS),
        wait=wait_random_exponential(_SHORTEST_WAIT, max=_LONGEST_WAIT),
        retry=retry_if_result(lambda result: result is None),
        sleep=sleep,
    )
    try:
        done = retrying(attempt)
    except RetryError:
        done = None
    if done is None:
        raise ProviderUnavailableError(
            "Others change the same configuration again and again. Nothing was changed: try again later."
        )
    return done
