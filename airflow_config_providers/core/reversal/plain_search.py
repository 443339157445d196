"""What ``search`` needs of ``ahocorasick_rs``, in Python alone: slower by far, and enough for one job's secrets."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum


class Implementation(Enum):
    """The library's choices, which make no difference here."""

    DFA = "dfa"
    ContiguousNFA = "contiguous"


class BytesAhoCorasick:
    """
    Finds patterns by looking up every part of the text that is as long as one of them.

    :param patterns: none is empty
    """

    def __init__(self, patterns: Iterable[bytes], implementation: Implementation | None = None) -> None:
        self._by_length: dict[int, dict[bytes, int]] = {}
        for index, pattern in enumerate(patterns):
            self._by_length.setdefault(len(pattern), {})[pattern] = index

    def find_matches_as_indexes(self, haystack: bytes, overlapping: bool = True) -> list[tuple[int, int, int]]:
        """Give the index of the pattern, the start and the end of every match, also of those that overlap."""
        found: list[tuple[int, int, int]] = []
        for length, indexes in self._by_length.items():
            for start in range(len(haystack) - length + 1):
                index = indexes.get(haystack[start : start + length])
                if index is not None:
                    found.append((index, start, start + length))
        return sorted(found, key=lambda match: match[2])
