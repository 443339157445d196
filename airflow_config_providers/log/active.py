"""The reversers that are at work in this process."""

from __future__ import annotations

from airflow_config_providers.core.reversal.reverse import ReverseTransformer, reverse_object, reverse_text


class ActiveReversers:
    """
    Several reversers as one: tasks may run inside a task, and side by side in threads.

    False when there is none. Reading needs no lock, since a change replaces the tuple; changes are made under the
    lock of whoever makes them.
    """

    __slots__ = ("_reversers",)

    def __init__(self) -> None:
        self._reversers: tuple[ReverseTransformer, ...] = ()

    def add(self, reverser: ReverseTransformer) -> None:
        """Put ``reverser`` to work; one that was added twice is removed twice."""
        self._reversers = (*self._reversers, reverser)

    def remove(self, reverser: ReverseTransformer) -> None:
        """Take back one ``add``."""
        position = self._reversers.index(reverser)
        self._reversers = self._reversers[:position] + self._reversers[position + 1 :]

    @property
    def reversers(self) -> tuple[ReverseTransformer, ...]:
        """Those at work now."""
        return self._reversers

    def text(self, text: str) -> str:
        """Reverse ``text``."""
        return reverse_text(text, self._reversers)

    def value(self, value: object) -> object:
        """Reverse anything, as it would be shown."""
        return reverse_object(value, self._reversers)

    def __bool__(self) -> bool:
        return bool(self._reversers)
