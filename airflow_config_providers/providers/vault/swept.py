"""A mapping that removes outdated entries as it grows."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, Generic, TypeVar

_K = TypeVar("_K")
_V = TypeVar("_V")

_LEAST: Final = 16
"""How many entries are kept, at least, before outdated ones are removed."""


class Swept(Generic[_K, _V]):
    """
    Entries of which only good ones are worth keeping. Thread-safe.

    Outdated entries are removed when the number of entries has doubled since they last were, so that a new entry costs
    the same however many there are. Until then, ``get`` returns them too.

    :param is_good: whether an entry is not outdated; called with the lock held
    """

    def __init__(self, is_good: Callable[[_V], bool]) -> None:
        self._is_good = is_good
        self.forget()

    def forget(self) -> None:
        """In a forked child: begin with nothing, and with a lock that no thread of the parent holds."""
        self._lock = threading.Lock()
        self._kept: dict[_K, _V] = {}
        self._most = _LEAST

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: _K) -> _V | None:
        """Return the entry under ``key``; None if there is none."""
        return self._kept.get(key)

    def keep(self, key: _K, entry: _V) -> None:
        """Keep ``entry`` under ``key``, even if it is outdated already."""
        with self._lock:
            if len(self._kept) >= self._most:
                self._kept = {k: kept for k, kept in self._kept.items() if self._is_good(kept)}
                self._most = max(_LEAST, 2 * len(self._kept))
            self._kept[key] = entry

    def clear(self) -> None:
        """Remove all entries."""
        with self._lock:
            self._kept.clear()
