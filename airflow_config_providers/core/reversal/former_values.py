"""Reversal of the values that references had one after the other, without compiling all of them after each change."""

from __future__ import annotations

from typing import Final

from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.core.variable import ConfigVariable

_SHARE: Final = 8
"""
After this part of the values that are kept, recent ones join the older ones. More would have the large search compiled
more often, and fewer the small one larger.
"""


class FormerValues:
    """
    Knows the current values of references, the last ones before, and the first ones. Not thread-safe.

    Recent values are in a search of their own, so that a change has only this one compiled again.

    :param kept: how many earlier values of each reference are known at least
    """

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._changes = 0
        self._first: tuple[tuple[ConfigVariable, str], ...] = ()
        self._older = ReverseTransformer({}, {})
        self.recent = self._older
        """Replaces the current values, and those before that are not with the older ones."""

    def add(self, current: ReverseTransformer) -> None:
        """Take what ``current`` knows for the values that references have now."""
        self._first = self._first or current.pairs
        self._changes += 1
        if self._changes > self._kept // _SHARE:
            self._join()
        self.recent = current.knowing(self.recent)

    @property
    def reversers(self) -> tuple[ReverseTransformer, ReverseTransformer]:
        """What replaces all of them, if both are active together."""
        return self.recent, self._older

    def _join(self) -> None:
        """Add the recent values to the older ones, and forget the oldest of these."""
        known = self.recent.knowing(self._older).recent(self._kept)
        self._older = ReverseTransformer.of_pairs((*known.pairs, *self._first), hidden=known.hidden)
        self.recent, self._changes = ReverseTransformer({}, {}), 0
