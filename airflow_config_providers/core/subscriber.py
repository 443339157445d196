"""Subscribers to values that change, and the thread that calls them."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Hashable
from typing import Final

from airflow_config_providers.core.data import ConfigData
from airflow_config_providers.core.provider import ConfigChangeCallback
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.timetable import Timetable

_log: Final = logging.getLogger(__name__)

_PATIENCE: Final = 5.0
"""Seconds that a callback can take before the ones behind it get another thread."""


class Subscriber:
    """
    One callback, and what it has seen.

    :ivar seen: hash of the values that it knows
    :ivar names: the keys that it knows
    :ivar mark: the mark of what it knows; None if it has none
    :ivar misses: whether some of them were gone when they were last read
    :ivar failures: how often in succession they could not be read
    :ivar news: what it will be called with
    :ivar is_queued: whether it waits for its call, or is being called
    """

    def __init__(self, path: str, keys: frozenset[str] | None, callback: ConfigChangeCallback) -> None:
        self.path = path
        self.keys = keys
        self.callback = callback
        self.is_active = True
        self.seen = b""
        self.names: frozenset[str] = frozenset()
        self.mark: Hashable | None = None
        self.misses = False
        self.failures = 0
        self.news: ConfigData | None = None
        self.is_queued = False

    @property
    def arguments(self) -> tuple[str, frozenset[str] | None, ConfigChangeCallback]:
        """What it was subscribed with."""
        return self.path, self.keys, self.callback

    def sees(self, data: ConfigData, content: bytes, mark: Hashable | None = None) -> None:
        """Remember what it knows from now on."""
        self.seen, self.names, self.mark, self.misses = content, frozenset(data.data), mark, False

    def call(self) -> None:
        """Call it with its news, unless it was unsubscribed meanwhile."""
        news, self.news = self.news, None
        if news is None or not self.is_active:
            return
        try:
            self.callback(self.path, news)
        except BaseException as error:  # noqa: BLE001 - the others are called in any case; its text can contain a value
            _log.warning("A subscriber of %s failed (%s).", printable(self.path), type(error).__name__)

    def own(self, data: ConfigData) -> ConfigData:
        """Return what it has subscribed to."""
        if self.keys is None:
            return data
        return ConfigData({key: value for key, value in data.data.items() if key in self.keys}, data.ttl)


class Courier:
    """
    Calls subscribers one after the other, in a thread that exists only meanwhile.

    If that takes longer than ``_PATIENCE``, another thread goes on with those that wait, and the first one ends when
    its callback returns.
    """

    def __init__(self, timetable: Timetable) -> None:
        self._timetable = timetable
        self._lock = threading.Lock()
        self._waiting: deque[Subscriber] = deque()
        self._in_charge: object | None = None

    def send(self, subscriber: Subscriber, news: ConfigData) -> None:
        """Call ``subscriber`` with ``news``; if it is still busy with older ones, after it has returned."""
        with self._lock:
            subscriber.news = news
            if not subscriber.is_queued:
                subscriber.is_queued = True
                self._waiting.append(subscriber)
            is_idle = self._in_charge is None
        if is_idle:
            self._start()
        self._timetable.ensure(self, self._timetable.clock() + _PATIENCE, self._relieve)

    def _relieve(self) -> float | None:
        """Have another thread go on if someone still waits."""
        if not self._waiting:
            return None
        self._start()
        return self._timetable.clock() + _PATIENCE

    def _start(self) -> None:
        with self._lock:
            turn = self._in_charge = object()
        threading.Thread(target=self._deliver, args=(turn,), name="config-change", daemon=True).start()

    def _deliver(self, turn: object) -> None:
        subscriber = self._next(turn)
        while subscriber is not None:
            subscriber.call()
            subscriber = self._next(turn, after=subscriber)

    def _next(self, turn: object, *, after: Subscriber | None = None) -> Subscriber | None:
        """Return the next subscriber to call; None if there is none, or another thread is in charge."""
        with self._lock:
            if after is not None:
                after.is_queued = after.news is not None
                if after.is_queued:
                    self._waiting.append(after)
            if self._in_charge not in (turn, None):
                return None
            self._in_charge = turn if self._waiting else None
            return self._waiting.popleft() if self._waiting else None
