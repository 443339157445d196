"""When to renew logins and leases, and a timer that does it."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final

_log = logging.getLogger(__name__)

_LONGEST_WAIT: Final = 3600.0
LONGEST: Final = 10 * 365 * 24 * 3600
"""The longest duration in seconds; longer ones are cut to it."""

Clock = Callable[[], float]
Renewal = Callable[[], float | None]
"""Renews something, and returns when it is due again, by the clock; None for never."""
Start = Callable[[Callable[[], None]], None]


@dataclass(slots=True)
class _Due:
    at: float
    renew: Renewal


def start_thread(run: Callable[[], None]) -> None:
    """Run ``run`` in a thread that does not keep the process alive."""
    threading.Thread(target=run, name="vault-renewal", daemon=True).start()


class Renewals:
    """
    Renews what is due, in a thread that exists only while something waits. Thread-safe.

    :param clock: seconds, monotonic
    :param start: runs a function in a thread of its own
    """

    def __init__(self, clock: Clock, start: Start = start_thread) -> None:
        self._clock = clock
        self._start = start
        self._changed = threading.Condition()
        self._waiting: dict[Hashable, _Due] = {}
        self._is_running = False

    def add(self, key: Hashable, at: float, renew: Renewal) -> None:
        """Have ``renew`` called at ``at``, instead of what was under ``key``."""
        with self._changed:
            self._waiting[key] = _Due(at, renew)
            self._changed.notify()
            if self._is_running:
                return
            self._is_running = True
        self._start(self._run)

    def drop(self, key: Hashable) -> None:
        """Renew it no longer."""
        with self._changed:
            self._waiting.pop(key, None)
            self._changed.notify()

    def clear(self) -> None:
        """Renew nothing any longer; the thread ends."""
        with self._changed:
            self._waiting.clear()
            self._changed.notify()

    def run_due(self) -> None:
        """Renew what is due now."""
        while (due := self._next_due()) is not None:
            key, entry = due
            at = _renewed(entry.renew)
            self._put_back(key, entry, at)

    def _run(self) -> None:
        while self._wait():
            self.run_due()

    def _wait(self) -> bool:
        """Wait until something may be due; return False if nothing is left, so that the thread ends."""
        with self._changed:
            if not self._waiting:
                self._is_running = False
                return False
            left = min(entry.at for entry in self._waiting.values()) - self._clock()
            if left > 0:
                self._changed.wait(min(left, _LONGEST_WAIT))
            return True

    def _next_due(self) -> tuple[Hashable, _Due] | None:
        with self._changed:
            now = self._clock()
            return next(((key, entry) for key, entry in self._waiting.items() if entry.at <= now), None)

    def _put_back(self, key: Hashable, entry: _Due, at: float | None) -> None:
        with self._changed:
            if self._waiting.get(key) is not entry:
                return
            if at is None:
                del self._waiting[key]
            else:
                entry.at = at


def _renewed(renew: Renewal) -> float | None:
    try:
        return renew()
    except Exception as error:  # noqa: BLE001 - the thread has others to renew, and a message may contain a value
        _log.warning("A login or lease of Vault could not be renewed: %s", type(error).__name__)
        return None


def when_to_renew(start: float, ttl: float) -> float:
    """Return a moment after about two thirds of ``ttl`` seconds, spread so that many processes do not coincide."""
    return start + ttl * random.uniform(0.6, 0.7)  # noqa: S311 - spreads load, no security


def when_to_retry(now: float, expires: float) -> float | None:
    """Return when to retry a renewal that failed; None if too little time is left."""
    left = expires - now
    return now + max(1.0, left / 4) if left > 2 else None


def seconds(duration: object) -> float:
    """Return a duration of Vault's in seconds, at most ten years; 0 for anything else."""
    if isinstance(duration, bool) or not isinstance(duration, int | float) or not duration > 0:
        return 0.0
    return float(min(duration, LONGEST))
