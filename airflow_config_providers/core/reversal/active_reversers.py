"""Several reversers as one, because tasks can run inside a task, and in parallel threads."""

from __future__ import annotations

import threading
from typing import Final

from airflow_config_providers.core.concurrency.per_process import hold_forks
from airflow_config_providers.core.reversal.reverse import ReverseTransformer, reverse_object, reverse_text

_changing: Final = threading.RLock()  # reentrant, since a signal handler can change them, too
hold_forks(_changing)


class ActiveReversers:
    """
    The reversers that are active now; false if there is none.

    Safe to use from several threads. Reading needs no lock, since a change replaces the tuple: who reads it sees either
    all of a change or nothing of it, and keeps what it has read. Changes wait for each other, so that none is lost.
    """

    __slots__ = ("_reversers",)

    def __init__(self) -> None:
        self._reversers: tuple[ReverseTransformer, ...] = ()

    def add(self, reverser: ReverseTransformer) -> None:
        """Activate ``reverser``; one that was added twice must be removed twice."""
        with _changing:
            self._reversers = (*self._reversers, reverser)

    def remove(self, reverser: ReverseTransformer) -> None:
        """Undo one ``add``, unless ``prune`` or ``know`` has removed it, since it has forgotten its values."""
        with _changing:
            if reverser in self._reversers:
                position = self._reversers.index(reverser)
                self._reversers = self._reversers[:position] + self._reversers[position + 1 :]

    def prune(self) -> None:
        """Remove those that have forgotten their values."""
        with _changing:
            self._reversers = self.with_values

    def know(self, reverser: ReverseTransformer) -> None:
        """Activate ``reverser``, once however often it is known, until it forgets its values; nobody removes it."""
        with _changing:
            self._reversers = (*(each for each in self.with_values if each is not reverser), reverser)

    @property
    def reversers(self) -> tuple[ReverseTransformer, ...]:
        """The reversers that are active now, also if they have forgotten their values."""
        return self._reversers

    @property
    def with_values(self) -> tuple[ReverseTransformer, ...]:
        """Those that still have values."""
        return tuple(each for each in self._reversers if each)

    def text(self, text: str) -> str:
        """Return ``text`` with references in place of values."""
        return reverse_text(text, self._reversers)

    def value(self, value: object) -> object:
        """Return ``value`` with references in place of values in everything that it shows."""
        return reverse_object(value, self._reversers)

    def __bool__(self) -> bool:
        return bool(self._reversers)
