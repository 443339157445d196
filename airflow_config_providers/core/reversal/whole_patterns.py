"""Find whole patterns, in little memory also if they are long."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from airflow_config_providers.core.reversal.automaton import BytesAhoCorasick, Implementation
from airflow_config_providers.core.reversal.parts import Match, equal_after
from airflow_config_providers.core.reversal.windows import WINDOW, Find, Hits

_DEEPEST: Final = 4
"""The most patterns that end in each other and are reported apart. It limits the matches that end at one byte."""

_HEAD: Final = 1024
"""
The fewest bytes of a long pattern in the automaton, where each takes some fifty bytes. The rest is compared.
"""

_APART: Final = 128
"""The fewest bytes between two occurrences of a head. One that could occur again sooner is made longer."""

_AT_ONCE: Final = 64
_MOST_AT_ONCE: Final = 1024 * 1024
"""How many bytes are compared at a time: as many as were equal, from the first to the second of these numbers."""


class WholePatterns:
    """
    Finds whole patterns, also where they overlap, in time linear in the text.

    :param labels: pattern -> the label that replaces it
    """

    __slots__ = ("_find", "_long", "_short")

    def __init__(self, labels: Mapping[bytes, bytes]) -> None:
        heads: dict[bytes, int] = {}
        short: dict[int, tuple[int, bytes]] = {}
        self._long: defaultdict[int, list[_Long]] = defaultdict(list)
        for pattern, before in _bounded(labels).items():
            head = _head(pattern)
            index = heads.setdefault(head, len(heads))
            if len(pattern) == len(head):
                short[index] = before, labels[pattern]
            else:
                self._long[index].append(_Long(pattern, before, labels[pattern]))
        self._short = [short.get(index) for index in range(len(heads))]
        self._find: Find = BytesAhoCorasick(heads, implementation=Implementation.ContiguousNFA).find_matches_as_indexes

    def find(self, data: bytes, place: int = 0) -> list[Match]:
        """
        Return the matches in ``data``, with the bytes before them that are hidden, too; in no order.

        :param place: is added to each start and end
        """
        hits = self._find(data, True)
        found = [
            (place + max(0, start - one[0]), place + end, one[1]) for i, start, end in hits if (one := self._short[i])
        ]
        return [*found, *self._long_ones(data, hits, place)] if self._long else found

    def _long_ones(self, data: bytes, hits: Hits, place: int) -> Iterator[Match]:
        heads: defaultdict[int, list[int]] = defaultdict(list)
        for index, start, _ in hits:
            if index in self._long:
                heads[index].append(start)
        for index, starts in heads.items():
            for one in self._long[index]:
                for start in one.starts(data, starts):
                    yield place + max(0, start - one.before), place + start + len(one.pattern), one.label


def _head(pattern: bytes) -> bytes:
    """Return the beginning of a pattern that the automaton has: blanks alone would be found at each of many blanks."""
    size = _HEAD
    while size < len(pattern) and _overlaps_soon(pattern[:size]):
        size *= 2
    return pattern[:size]


def _overlaps_soon(head: bytes) -> bool:
    return any(head.startswith(head[shift:]) for shift in range(1, _APART))


class _Long:
    """
    A pattern of which the automaton finds the head.

    :param before: how many bytes before it are hidden with it
    :param label: what replaces it
    """

    __slots__ = ("_repeated", "before", "label", "pattern")

    def __init__(self, pattern: bytes, before: int, label: bytes) -> None:
        self.pattern = pattern
        self.before = before
        self.label = label
        self._repeated: dict[int, int] = {}

    def starts(self, data: bytes, heads: Iterable[int]) -> Iterator[int]:
        """
        Yield those of ``heads`` at which the whole pattern is in ``data``; they are in order.

        Bytes that were equal at the head before are not compared again, as they would be in a text that repeats itself.
        """
        before = size = 0  # the head before, and how many bytes are equal there
        for start in heads:
            shift = start - before
            rest, repeated = size - shift, self._repeated_after(shift) if shift < size else 0
            if repeated < rest:
                size = repeated
            else:
                size = max(_HEAD, rest)
                size += _equal(data, start + size, self.pattern, size)
            before = start
            if size == len(self.pattern):
                yield start

    def _repeated_after(self, shift: int) -> int:
        """Return how many bytes at ``shift`` are equal to the beginning of the pattern."""
        if shift not in self._repeated:
            self._repeated[shift] = _equal(self.pattern, shift, self.pattern, 0)
        return self._repeated[shift]


def _equal(one: bytes, place: int, other: bytes, beside: int) -> int:
    """Return how many bytes are equal from ``place`` of ``one`` and from ``beside`` of ``other`` on."""
    size, more = 0, _AT_ONCE
    while True:
        first, second = (text[at + size : at + size + more] for text, at in ((one, place), (other, beside)))
        if first != second or len(first) < more:
            return size + equal_after(first, second)
        size, more = size + more, min(2 * more, _MOST_AT_ONCE)


def _bounded(patterns: Iterable[bytes]) -> dict[bytes, int]:
    """
    Return the patterns to search for, and for each how many bytes before it are hidden with it.

    If more than ``_DEEPEST`` patterns end in each other, the longer ones are left out, and the bytes before the shorter
    one are hidden in any case. Otherwise, there could be as many matches as bytes times patterns.
    """
    before = dict.fromkeys(patterns, 0)
    groups: defaultdict[bytes, list[bytes]] = defaultdict(list)
    for pattern in before:
        groups[pattern[-WINDOW:]].append(pattern)
    for group in groups.values():
        if len(group) > _DEEPEST:
            _bound(group, before)
    return before


def _bound(group: Iterable[bytes], before: dict[bytes, int]) -> None:
    nested: list[bytes] = []  # each begins with the previous one
    for turned in sorted(pattern[::-1] for pattern in group):
        while nested and not turned.startswith(nested[-1]):
            nested.pop()
        nested.append(turned)
        if len(nested) > _DEEPEST:
            kept = nested[_DEEPEST - 1][::-1]
            before[kept] = max(before[kept], len(turned) - len(kept))
            del before[turned[::-1]]
