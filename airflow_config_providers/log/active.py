"""The active reversers of this process."""

from __future__ import annotations

from airflow_config_providers.core.reversal.reverse import ReverseTransformer, reverse_object, reverse_text


class ActiveReversers:
    """
    Several reversers as one, because tasks can run inside a task, and in parallel threads.

    False if there is no reverser. Reading needs no lock, since a change replaces the tuple. Callers hold a lock of
    their own while they change it.
    """

    __slots__ = ("_reversers",)

    def __init__(self) -> None:
        self._reversers: tuple[ReverseTransformer, ...] = ()

    def add(self, reverser: ReverseTransformer) -> None:
        """Activate ``reverser``; one that was added twice must be removed twice."""
        self._reversers = (*self._reversers, reverser)

    def remove(self, reverser: ReverseTransformer) -> None:
        """Undo one ``add``."""
        position = self._reversers.index(reverser)
        self._reversers = self._reversers[:position] + self._reversers[position + 1 :]

    @property
    def reversers(self) -> tuple[ReverseTransformer, ...]:
        """The reversers that are active now."""
        return self._reversers

    def text(self, text: str) -> str:
        """Return ``text`` with references in place of values."""
        return reverse_text(text, self._reversers)

    def value(self, value: object) -> object:
        """Return ``value`` with references in place of values in everything that it shows."""
        return reverse_object(value, self._reversers)

    def __bool__(self) -> bool:
        return bool(self._reversers)
