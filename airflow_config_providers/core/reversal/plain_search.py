"""The part of ``ahocorasick_rs`` that ``search`` needs, in pure Python: far slower, but enough for one job."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum


class Implementation(Enum):
    """The choices of the library; ignored here."""

    DFA = "dfa"
    ContiguousNFA = "contiguous"


class BytesAhoCorasick:
    """
    Finds patterns by looking up every part of the text that is as long as a pattern.

    :param patterns: not empty
    """

    def __init__(self, patterns: Iterable[bytes], implementation: Implementation | None = None) -> None:
        self._by_length: dict[int, dict[bytes, int]] = {}
        for index, pattern in enumerate(patterns):
            self._by_length.setdefault(len(pattern), {})[pattern] = index

    def find_matches_as_indexes(self, haystack: bytes, overlapping: bool = True) -> list[tuple[int, int, int]]:
        """Return pattern index, start and end of every match, including overlapping ones."""
        found: list[tuple[int, int, int]] = []
        for length, indexes in self._by_length.items():
            for start in range(len(haystack) - length + 1):
                index = indexes.get(haystack[start : start + length])
                if index is not None:
                    found.append((index, start, start + length))
        return sorted(found, key=lambda match: match[2])
