"""Find many texts at once, and put others in their place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from ahocorasick_rs import BytesAhoCorasick, Implementation

_LARGEST_TABLE: Final = 256 * 1024
"""Octets of patterns up to which the table twice as fast, and thirty times as large, is built."""


Match = tuple[int, int, bytes]
"""Start and end of a pattern in a text, and what stands for it."""


class Finder:
    """
    Finds every occurrence of every pattern, also where they overlap, in one pass over the text.

    :param labels: pattern -> what stands for it; no pattern is empty
    """

    __slots__ = ("_automaton", "_labels")

    def __init__(self, labels: Mapping[bytes, bytes]) -> None:
        is_small = sum(map(len, labels)) <= _LARGEST_TABLE
        kind = Implementation.DFA if is_small else Implementation.ContiguousNFA
        self._automaton = BytesAhoCorasick(labels, implementation=kind)
        self._labels = list(labels.values())

    def find(self, data: bytes) -> list[Match]:
        """Give the matches in ``data``, in no promised order."""
        found = self._automaton.find_matches_as_indexes(data, overlapping=True)
        return [(start, end, self._labels[index]) for index, start, end in found] if found else []


def replace(data: bytes, matches: Iterable[Match]) -> bytes:
    """
    Put labels in place of ``matches``, whose order does not matter.

    Matches that overlap are replaced as one, by the label of the longest, so that no part of any is left.
    Of matches equally long the first counts.
    """
    pieces: list[bytes] = []
    position = 0
    for start, end, label in _unions(sorted(matches)):
        pieces += data[position:start], label
        position = end
    pieces.append(data[position:])
    return b"".join(pieces)


def _unions(matches: list[Match]) -> Iterator[Match]:
    """Join what overlaps in ``matches``, which are sorted."""
    if not matches:
        return
    first, last, label = matches[0]
    longest = last - first
    for start, end, other in matches:
        if start >= last:
            yield first, last, label
            first, last, label, longest = start, end, other, end - start
            continue
        if end - start > longest:
            label, longest = other, end - start
        last = max(last, end)
    yield first, last, label
