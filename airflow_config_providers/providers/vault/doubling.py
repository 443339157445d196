"""When outdated entries of a collection are removed, so that a new entry costs the same however many there are."""

from __future__ import annotations

from typing import Final

_LEAST: Final = 16
"""How many entries are kept, at least, before outdated ones are removed."""


class Doubling:
    """Says that a collection has as many entries as twice those that were left when it was last swept."""

    def __init__(self) -> None:
        self._most = _LEAST

    def is_reached(self, entries: int) -> bool:
        """Return whether so many entries are to be swept."""
        return entries >= self._most

    def sweep(self, left: int) -> None:
        """Take note that outdated entries were removed, and how many are left."""
        self._most = max(_LEAST, 2 * left)
