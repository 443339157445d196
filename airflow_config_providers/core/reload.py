"""Decides when a job is reloaded because its secrets might have changed (KIP-297)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from math import ceil
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException, refuse

if TYPE_CHECKING:
    from airflow_config_providers.core.lookup import Place

RELOAD_ACTION_KEYS: Final = ("config.reload.action", "config.action.reload")
"""The key of KIP-297, and the name that Kafka has given it."""

LONGEST_DELAY: Final = 366 * 24 * 60 * 60 * 1000
"""Milliseconds after which a job is checked at the latest; a longer ``ttl`` is a mistake or means for ever."""


class ReloadAction(Enum):
    """What happens to a running job when its secrets might have changed (KIP-297)."""

    NONE = "none"
    RESTART = "restart"

    @classmethod
    def parse(cls, text: str) -> Self:
        """
        Return the action with this name; case and surrounding whitespace do not matter.

        :raises ConfigException: there is no such action
        """
        name = text.strip().lower()
        for action in cls:
            if action.value == name:
                return action
        raise ConfigException(f"'{printable(text)}' is invalid; use none or restart.")

    @classmethod
    def of(cls, configs: Mapping[str, str], *, names: Sequence[str] = RELOAD_ACTION_KEYS) -> Self | None:
        """
        Return the action that ``configs`` ask for under one of ``names``; None if under none.

        :raises ConfigException: there is no such action, or two names disagree; names them
        """
        found, problems = {}, []
        for key in filter(configs.__contains__, names):
            try:
                found[key] = cls.parse(configs[key])
            except ConfigException as error:
                problems += [f"{key}: {problem}" for problem in error.problems]
        if len(set(found.values())) > 1:
            problems.append(f"{' and '.join(found)} are two names of one setting, and their values differ. Set one.")
        refuse(ConfigException, problems)
        return next(iter(found.values()), None)


def without_reload_action(configs: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``configs`` without the reload action, which is for us and not for Spark."""
    return {key: value for key, value in configs.items() if key not in RELOAD_ACTION_KEYS}


class Handle(Protocol):
    """A call that a timer will make."""

    def cancel(self) -> object:
        """Do not make the call; harmless if it was made."""


class Timer(Protocol):
    """Makes calls later."""

    def schedule(self, delay_ms: int, callback: Callable[[], None]) -> Handle:
        """Call ``callback`` once, in any thread, after ``delay_ms`` milliseconds; never before this returns."""


@dataclass(slots=True, eq=False)
class _ReloadRequest:
    """A reload for values that expire; due ``longest`` milliseconds after it was first asked for, at the latest."""

    since: float
    longest: int
    handle: Handle | None = None

    def cancel(self) -> None:
        if self.handle:
            self.handle.cancel()


class ReloadScheduler:
    """
    Asks for the reload of a job when values that it uses have reached the end of their time to live.

    As in Kafka Connect, each place with a ttl asks for a restart, which replaces an earlier one of the same job and
    place; a place that has no ttl, or that is no longer used, changes nothing, and neither does ``none``. Unlike in
    Kafka:

    - Places of different providers are different, even if their paths are equal.
    - A provider that returns the same ttl with each answer does not put the restart off each time: it is due no later
      than the longest ttl after the first request.
    - When one place is due, ``reload`` is called once for the whole job, and the requests of its other places end.

    Thread-safe. ``reload`` decides whether the values have changed; it plans anew with the ttls that it has read.

    :param timer: makes the calls; each is cancelled before another one replaces it
    :param default: what a job without an action of its own does
    :param reload: called with the job, in the timer's thread
    :param clock: seconds that never go back
    """

    def __init__(
        self,
        timer: Timer,
        default: ReloadAction = ReloadAction.RESTART,
        *,
        reload: Callable[[Hashable], object] = lambda job: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._timer = timer
        self._default = default
        self._reload = reload
        self._clock = clock
        self._requests: dict[Hashable, dict[Place, _ReloadRequest]] = {}
        self._lock = threading.Lock()
        self._is_closed = False

    def plan(self, job: Hashable | None, ttls: Mapping[Place, int | None], action: ReloadAction | None = None) -> None:
        """
        Ask for a reload of ``job`` for each place that has a ttl.

        :param job: None schedules nothing
        :param ttls: (provider, path) -> milliseconds; below 0 and None are ignored
        :param action: None for the default
        """
        if job is None or (action or self._default) is ReloadAction.NONE:
            return
        with self._lock:
            if self._is_closed:
                return
            for place, ttl in ttls.items():
                if ttl is not None and ttl >= 0:
                    self._request(job, place, min(ttl, LONGEST_DELAY))

    def cancel(self, job: Hashable) -> None:
        """Withdraw all requests of ``job``."""
        with self._lock:
            self._withdraw(job)

    def close(self) -> None:
        """Withdraw all requests; later plans schedule nothing."""
        with self._lock:
            self._is_closed = True
            for job in list(self._requests):
                self._withdraw(job)

    def _request(self, job: Hashable, place: Place, ttl: int) -> None:
        now = self._clock() * 1000
        places = self._requests.setdefault(job, {})
        earlier = places.get(place, _ReloadRequest(since=now, longest=ttl))
        earlier.cancel()
        request = places[place] = _ReloadRequest(since=earlier.since, longest=max(ttl, earlier.longest))
        delay = max(0, ceil(min(ttl, request.since + request.longest - now)))
        request.handle = self._timer.schedule(delay, lambda: self._due(job, place, request))

    def _due(self, job: Hashable, place: Place, request: _ReloadRequest) -> None:
        with self._lock:
            if self._requests.get(job, {}).get(place) is not request:
                return  # it was withdrawn while the timer was about to call
            self._withdraw(job)
        self._reload(job)

    def _withdraw(self, job: Hashable) -> None:
        for request in self._requests.pop(job, {}).values():
            request.cancel()
