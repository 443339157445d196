"""Subscriptions to values that change (KIP-297)."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Collection, Hashable
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace
from typing import Final, Protocol

from airflow_config_providers.core.concurrency.per_process import forget_in_children
from airflow_config_providers.core.concurrency.timetable import Start, Timetable, in_daemon
from airflow_config_providers.core.concurrency.workers import in_thread
from airflow_config_providers.core.provider import ConfigChangeCallback, ConfigData, ContentHash
from airflow_config_providers.core.text import printable

_log: Final = logging.getLogger(__name__)

_PATIENCE: Final = 5.0
"""Seconds that a callback can take before the ones behind it get another thread."""


class Subscriber:
    """One callback, and what it has seen."""

    def __init__(self, path: str, keys: frozenset[str] | None, callback: ConfigChangeCallback) -> None:
        self.path = path
        self.keys = keys
        self.callback = callback
        self.is_active = True
        self.seen = b""  # hash of the values that it knows
        self.names: frozenset[str] = frozenset()  # the keys that it knows
        self.mark: Hashable | None = None  # of what it knows, if that has one
        self.misses = False  # whether some of them were gone when they were last read
        self.failures = 0  # how often in succession they could not be read
        self.news: ConfigData | None = None  # what it will be called with
        self.is_queued = False  # whether it waits for its call, or is being called

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
        """Return what this object has subscribed to; a key with None is left out, as when a value is resolved."""
        found = {key: value for key, value in data.data.items() if self.keys is None or key in self.keys}
        return replace(data, data={key: value for key, value in found.items() if value is not None})


class Courier:
    """
    Calls subscribers one after the other, in a thread that exists only meanwhile.

    If that takes longer than ``_PATIENCE``, another thread goes on with those that wait, and the first one ends when
    its callback returns. If no thread can be started, it is tried again after the same time.
    """

    def __init__(self, timetable: Timetable, start: Start | None = None) -> None:
        self._timetable = timetable
        self._start_thread = start or in_daemon("config-change")
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
        try:
            self._start_thread(lambda: self._deliver(turn))
        except RuntimeError:
            with self._lock:
                self._in_charge = None if self._in_charge is turn else self._in_charge
            _log.warning("Changed values cannot be told now: no thread can be started. It is tried again.")

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


TIMETABLE: Final = "config-changes"
"""The name of the timetable of reads, and of its thread."""

_SETTLING: Final = 0.2
"""Seconds after a sign of a change until the values are read: what changes them can still be at work."""

_SHORTEST: Final = 1.0
"""Seconds between two reads of a path, at least."""

_LONGEST_READ: Final = 10.0
"""Seconds that the other paths wait for a path to be read."""

_SECOND_LOOK: Final = 0.5
"""Seconds after which missing values are looked for again; a file can be removed before it is replaced."""

Read = Callable[[str, Collection[str] | None], ConfigData]


@dataclass(frozen=True, slots=True)
class Polled:
    """
    What a provider found when it looked for changes.

    :param data: the values; None if they are the ones that came with the mark that was given to ``Poll``
    :param mark: something that changes with the values, such as their version; None if there is nothing like this
    """

    data: ConfigData | None
    mark: Hashable | None = None


Poll = Callable[[str, Collection[str] | None, Hashable | None], Polled]
"""Returns the values of keys at a path, unless they still have the mark that is given; None for no mark."""


class Watch(Protocol):
    """Notices that values at some paths can have changed, before they are read again anyway."""

    def follow(self, paths: Collection[str], touch: Callable[[str], None]) -> None:
        """Call ``touch(path)`` for each of ``paths`` when it can have changed, and for no others; none ends it."""


class NoWatch:
    """Notices nothing."""

    def follow(self, paths: Collection[str], touch: Callable[[str], None]) -> None:
        """Do nothing."""


class Subscriptions:
    """
    The subscriptions of one provider. Thread-safe; a forked child has none.

    A path is read from time to time however many subscribe to it, and each subscriber called once for each change of
    its values, with the newest ones. Callbacks are called one after the other in a thread of their own; one that fails
    is logged, and one that does not return only misses later changes. A read that fails, or finds that the provider has
    nothing at the path and says so in ``absence``, is tried again later and is not a change. Paths are read one after
    the other; a read that takes too long goes on in its own thread. There is no other thread without a subscription.

    :param read: ``get`` of the provider, for what a subscriber knows at first
    :param interval: returns the milliseconds between reads; fewer if the values have a shorter ttl
    :param make_watch: returns what notices changes earlier
    :param poll: reads again, whatever the provider has cached; None for ``read``
    :param patience: seconds that the other paths wait for a path to be read
    """

    def __init__(  # noqa: PLR0913 - the provider gives the first; the others are seams
        self,
        read: Read,
        *,
        interval: Callable[[], int],
        make_watch: Callable[[], Watch] = NoWatch,
        poll: Poll | None = None,
        timetable: Timetable | None = None,
        patience: float = _LONGEST_READ,
    ) -> None:
        self._read = read
        self._patience = patience
        self._poll = poll or (lambda path, keys, mark: Polled(read(path, keys)))
        self._interval = interval
        self._make_watch = make_watch
        self._watch: Watch | None = None
        self._hash = ContentHash()
        self._timetable = timetable or Timetable(TIMETABLE)
        self._courier = Courier(self._timetable)
        self._lock = threading.Lock()
        self._subscribers: dict[str, list[Subscriber]] = {}
        self._late: dict[str, Future[float | None]] = {}  # reads that take too long
        forget_in_children(self)

    def add(self, path: str, keys: Collection[str] | None, callback: ConfigChangeCallback) -> None:
        """
        Call ``callback(path, data)`` when a value of ``keys`` at ``path`` is no longer what it is now.

        :param keys: None for all
        :raises ProviderLookupError: the values cannot be read now, or may not be
        """
        subscriber = Subscriber(path, None if keys is None else frozenset(keys), callback)
        before = self._subscribers
        data = self._read(path, keys)
        own = subscriber.own(data)
        subscriber.sees(own, self._hash.of(own.data))
        subscriber.failures = 1 if data.absence else 0
        with self._lock:
            if self._subscribers is not before:
                return  # all were undone while the values were read
            if is_first := path not in self._subscribers:  # before it is kept, as no thread could be started
                self._timetable.add(path, self._next_read(data.ttl), lambda: self._check(path))
            self._subscribers.setdefault(path, []).append(subscriber)
            if is_first:
                self._follow()

    def remove(self, path: str, keys: Collection[str] | None, callback: ConfigChangeCallback) -> None:
        """Undo one ``add`` with the same arguments; do nothing if there is none."""
        wanted = (path, None if keys is None else frozenset(keys), callback)
        with self._lock:
            found = next((one for one in self._subscribers.get(path, ()) if one.arguments == wanted), None)
            if found is None:
                return
            found.is_active = False
            self._subscribers[path].remove(found)
            if not self._subscribers[path]:
                del self._subscribers[path]
                self._timetable.drop(path)
                self._follow()

    def clear(self) -> None:
        """Undo every ``add``; no callback is called afterwards, except one that is being called now."""
        with self._lock:
            for subscriber in (one for some in self._subscribers.values() for one in some):
                subscriber.is_active = False
            self._subscribers = {}
            self._timetable.clear()
            self._follow()

    def touch(self, path: str) -> None:
        """Read ``path`` soon, because it can have changed."""
        self._timetable.hasten(path, self._timetable.clock() + _SETTLING)

    def forget(self) -> None:
        """In a forked child, which has no thread of the parent's: start afresh, without subscriptions."""
        self._timetable = Timetable(TIMETABLE, self._timetable.clock)
        self._courier = Courier(self._timetable)
        self._watch = None
        self._lock = threading.Lock()
        self._subscribers = {}
        self._late = {}

    def _follow(self) -> None:
        if self._watch is None and not self._subscribers:
            return  # a provider that is closed could make no watch
        self._watch = self._watch or self._make_watch()
        self._watch.follow(tuple(self._subscribers), self.touch)

    def _check(self, path: str) -> float | None:
        """Read ``path``, call those whose values have changed, and return when to read it again."""
        with self._lock:
            subscribers = list(self._subscribers.get(path, ()))
        if not subscribers:
            return None
        if path in self._late:
            return self._after_late_read(path, subscribers)
        reading = in_thread(self._read_again, path, subscribers)
        wait([reading], self._patience)
        if reading.done():
            return reading.result()
        self._late[path] = reading
        return self._after_failure(subscribers, f"no answer after {self._patience:g} seconds")

    def _after_late_read(self, path: str, subscribers: Collection[Subscriber]) -> float | None:
        """Wait on for a read that took too long; when it has ended, return when to read again."""
        if not self._late[path].done():
            return self._after_failure(subscribers, "no answer yet")
        next_read, now = self._late.pop(path).result(), self._timetable.clock()
        if next_read is None:  # the subscribers of now have perhaps come since
            return now
        return min(next_read, now + self._patience)  # a change during the read was perhaps not seen

    def _read_again(self, path: str, subscribers: Collection[Subscriber]) -> float | None:
        try:
            polled = self._poll(path, _together(subscribers), _common_mark(subscribers))
            return self._after_poll(subscribers, polled)
        except BaseException as error:  # noqa: BLE001 - whatever a provider raises or returns, it can contain a value
            return self._after_failure(subscribers, type(error).__name__)

    def _after_poll(self, subscribers: Collection[Subscriber], polled: Polled) -> float | None:
        data = polled.data
        if data is not None and data.absence:
            return self._after_failure(subscribers, "there is nothing")
        looks_again = [] if data is None else [self._compare(each, data, polled.mark) for each in subscribers]
        next_read = self._next_read(None if data is None else data.ttl)
        for subscriber in subscribers:
            subscriber.failures = 0
        return self._timetable.clock() + _SECOND_LOOK if any(looks_again) else next_read

    def _compare(self, subscriber: Subscriber, data: ConfigData, mark: Hashable | None) -> bool:
        """Have ``subscriber`` called if its values have changed; return whether to look again, as some are gone."""
        own = subscriber.own(data)
        content = self._hash.of(own.data)
        if content != subscriber.seen and subscriber.names - own.data.keys() and not subscriber.misses:
            subscriber.misses, subscriber.mark = True, None
            return True
        if content != subscriber.seen:
            self._courier.send(subscriber, own)
        subscriber.sees(own, content, mark)
        return False

    def _after_failure(self, subscribers: Collection[Subscriber], reason: str) -> float | None:
        if not any(subscriber.is_active for subscriber in subscribers):
            return None  # the provider was closed meanwhile
        for subscriber in subscribers:
            subscriber.failures += 1
        failures = max(subscriber.failures for subscriber in subscribers)
        if failures == 1:
            path = printable(next(iter(subscribers)).path)
            _log.warning("%s could not be read to look for changes (%s). It is tried again.", path, reason)
        pause = min(2.0 ** min(failures, 30), self._interval() / 1000)
        return self._timetable.between(pause / 2, pause)

    def _next_read(self, ttl: int | None) -> float:
        seconds = self._interval() / 1000
        if ttl is not None and 0 <= ttl / 1000 < seconds:
            seconds = max(_SHORTEST, ttl / 1000)
        return self._timetable.between(seconds, 1.1 * seconds)


def _together(subscribers: Collection[Subscriber]) -> Collection[str] | None:
    """Return the keys of all of them; None if one wants all keys."""
    keys = [subscriber.keys for subscriber in subscribers]
    return None if None in keys else frozenset[str]().union(*filter(None, keys))


def _common_mark(subscribers: Collection[Subscriber]) -> Hashable | None:
    """Return the mark of the values that all of them know; None if they know different ones."""
    marks = {subscriber.mark for subscriber in subscribers}
    return marks.pop() if len(marks) == 1 else None
