"""Calls that are made at their times, in one thread."""

from __future__ import annotations

import itertools
import logging
import math
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Final

_log: Final = logging.getLogger(__name__)

_LONGEST_WAIT: Final = 3600.0
"""Seconds. A longer wait is divided into several, because Python refuses a very long one."""

Clock = Callable[[], float]
"""Seconds that never go back."""

Call = Callable[[], float | None]
"""Does something, and returns when it is due again, by the clock; None for never."""

Start = Callable[[Callable[[], None]], None]
"""Runs a function in a thread of its own."""


def in_daemon(name: str) -> Start:
    """Return what runs a function in a daemon thread called ``name``."""
    return lambda run: threading.Thread(target=run, name=name, daemon=True).start()


_MOST_OUTDATED: Final = 100
"""How many outdated turns are kept, at least, before they are removed."""


@dataclass(slots=True)
class _Due:
    at: float
    call: Call
    is_running: bool = False


_Turn = tuple[float, int, Hashable, _Due]
"""When a call was due, a number that orders calls of the same moment, its key, and the call."""


class Timetable:
    """
    Makes each call when it is due, in a thread that exists only while one waits. Thread-safe.

    The time for a call grows with the logarithm of the number of calls that wait.

    A call that fails is logged, without its message, and not made again. The calls are made one after the other, so
    none should take long.

    :param name: what the calls are for, in the log and as the name of the thread
    :param start: runs a function in a thread of its own; None for a daemon
    """

    def __init__(self, name: str, clock: Clock = time.monotonic, start: Start | None = None) -> None:
        self.name = name
        self.clock = clock
        self._start = start or in_daemon(name)
        self._changed = threading.Condition()
        self._waiting: dict[Hashable, _Due] = {}
        self._turns: list[_Turn] = []
        self._numbers = itertools.count()
        self._in_charge: object | None = None

    def between(self, least: float, most: float) -> float:
        """Return a random moment that many seconds from now, so that many processes do not act at once."""
        import random  # noqa: PLC0415 - slow to import, and most tasks wait for nothing

        return self.clock() + random.uniform(least, most)  # noqa: S311 - spreads load, no security

    def add(self, key: Hashable, at: float, call: Call) -> None:
        """
        Have ``call`` made at ``at``, instead of what was under ``key``.

        :raises RuntimeError: no thread can be started now; the call waits until the next try, with any call
        """
        with self._changed:
            self._put(key, _Due(at, call))
            self._have_thread()

    def ensure(self, key: Hashable, at: float, call: Call) -> None:
        """
        Have ``call`` made at ``at``, unless a call waits under ``key``; one that is being made does not wait.

        :raises RuntimeError: as for ``add``
        """
        with self._changed:
            due = self._waiting.get(key)
            if due is None or due.is_running:
                self._put(key, _Due(at, call))
            self._have_thread()

    def hasten(self, key: Hashable, at: float) -> None:
        """Make the call under ``key`` at ``at`` if it is due later, or is being made; do nothing if there is none."""
        with self._changed:
            due = self._waiting.get(key)
            if due is not None and (due.is_running or due.at > at):
                self._put(key, _Due(at, due.call))

    def drop(self, key: Hashable) -> None:
        """Make the call under ``key`` no longer."""
        with self._changed:
            self._waiting.pop(key, None)
            self._changed.notify()

    def clear(self) -> None:
        """Make no call any longer; the thread ends."""
        with self._changed:
            self._waiting.clear()
            self._turns.clear()
            self._changed.notify()

    def schedule(self, delay_ms: int, callback: Callable[[], None]) -> TimetableEntry:
        """Call ``callback`` once after ``delay_ms`` milliseconds; this is a ``Timer`` for a ``ReloadScheduler``."""
        entry = TimetableEntry(self)

        def once() -> None:  # whatever it returns is no time at which to call it again
            callback()

        self.add(entry, self.clock() + delay_ms / 1000, once)
        return entry

    def run_due(self) -> None:
        """Make the calls that are due now."""
        while (due := self._next_due()) is not None:
            key, entry = due
            self._put_back(key, entry, self._made(entry.call))

    def _have_thread(self) -> None:
        """Start a thread, unless there is one. The caller holds the lock."""
        if self._in_charge is not None:
            return
        turn = self._in_charge = object()
        try:
            self._start(lambda: self._run(turn))
        except BaseException:  # it can run nevertheless, if a timeout of the task was raised
            self._in_charge = None
            raise

    def _run(self, turn: object) -> None:
        while self._wait(turn):
            self.run_due()

    def _wait(self, turn: object) -> bool:
        """Wait until something might be due; return False if nothing is left, or another thread is in charge."""
        with self._changed:
            if self._in_charge not in (turn, None):
                return False
            self._in_charge = turn if self._waiting else None
            if not self._waiting:
                return False
            left = self._next_at() - self.clock()
            if left > 0:
                self._changed.wait(min(left, _LONGEST_WAIT))
            return True

    def _next_due(self) -> tuple[Hashable, _Due] | None:
        with self._changed:
            if self._next_at() > self.clock():
                return None
            _, _, key, entry = heappop(self._turns)
            entry.is_running = True
            return key, entry

    def _put_back(self, key: Hashable, entry: _Due, at: float | None) -> None:
        with self._changed:
            if self._waiting.get(key) is not entry:
                return
            if at is None:
                del self._waiting[key]
            else:
                self._put(key, _Due(at, entry.call))

    def _put(self, key: Hashable, entry: _Due) -> None:
        self._waiting[key] = entry
        heappush(self._turns, (entry.at, next(self._numbers), key, entry))
        if len(self._turns) > 2 * len(self._waiting) + _MOST_OUTDATED:
            self._turns = [turn for turn in self._turns if self._is_current(turn)]
            heapify(self._turns)
        self._changed.notify()

    def _next_at(self) -> float:
        """Return when the next call is due, after removing turns that are outdated."""
        while self._turns and not self._is_current(self._turns[0]):
            heappop(self._turns)
        return self._turns[0][0] if self._turns else math.inf

    def _is_current(self, turn: _Turn) -> bool:
        """Return whether the call still waits for this turn, and was not dropped or moved."""
        return self._waiting.get(turn[2]) is turn[3]

    def _made(self, call: Call) -> float | None:
        try:
            return call()
        except BaseException as error:  # noqa: BLE001 - the thread has other calls to make, and a message can contain a value
            _log.warning("%s: a call failed (%s)", self.name, type(error).__name__)
            return None


class TimetableEntry:
    """A call that a timetable will make once."""

    def __init__(self, timetable: Timetable) -> None:
        self._timetable = timetable

    def cancel(self) -> None:
        """Do not make it; harmless if it was made."""
        self._timetable.drop(self)
