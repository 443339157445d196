"""The automaton that finds many patterns at once: of a library or, where that is missing, a slow one."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["BytesAhoCorasick", "Implementation", "PlainAhoCorasick", "PlainImplementation"]


class PlainImplementation:
    """The choices of the library; ignored by ``PlainAhoCorasick``."""

    DFA = "dfa"
    ContiguousNFA = "contiguous"


class PlainAhoCorasick:
    """
    Finds patterns by looking up every part of the text that is as long as a pattern.

    The part of the library that this package needs, in pure Python: far slower, but enough for one job.

    :param patterns: not empty
    """

    def __init__(self, patterns: Iterable[bytes], implementation: str | None = None) -> None:
        self._by_length: dict[int, dict[bytes, int]] = {}
        for index, pattern in enumerate(patterns):
            self._by_length.setdefault(len(pattern), {})[pattern] = index

    def find_matches_as_indexes(
        self, haystack: bytes | memoryview, overlapping: bool = True
    ) -> list[tuple[int, int, int]]:
        """Return pattern index, start and end of every match, including overlapping ones."""
        haystack = bytes(haystack)
        found: list[tuple[int, int, int]] = []
        for length, indexes in self._by_length.items():
            for start in range(len(haystack) - length + 1):
                index = indexes.get(haystack[start : start + length])
                if index is not None:
                    found.append((index, start, start + length))
        return sorted(found, key=lambda match: match[2])


try:
    from ahocorasick_rs import BytesAhoCorasick, Implementation
except ImportError:
    BytesAhoCorasick, Implementation = PlainAhoCorasick, PlainImplementation  # type: ignore[misc,assignment]  # the same in use
