"""Find patterns: whole, and in the parts that a table, a log or a parser leaves of them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from typing import Final

from airflow_config_providers.core.reversal.revealing import CUT, LONGEST, RUN, Spots, holds, is_random, lengths, spots
from airflow_config_providers.core.reversal.windows import (
    WINDOW,
    BytesAhoCorasick,
    Entry,
    Find,
    Hits,
    Implementation,
    Range,
    Stretches,
)

_MOST_OCTETS: Final = 32 * 1024
"""Bytes of patterns in which every run has a window. Plain texts come first."""

_MOST_ENTRIES: Final = 24
"""Most patterns that are checked for one window. A beginning shared by more patterns reveals no secret."""

_AROUND: Final = 128
"""Bytes around a window that are compared first, so that many windows in long patterns take no longer."""

_LONGEST_RUN: Final = 2 * RUN
"""Bytes of a run in the longest form; that many at the end of a part can begin a part of another pattern."""

_FOLLOWED: Final = rb"[ '\"\[(<]{0,3}(?:\.\.\.|\xe2\x80\xa6|\\u2026)"
_PRECEDED: Final = rb"(?:\.\.\.|\xe2\x80\xa6|\\u2026)[ '\"\])>]{0,3}\Z"
_LONGEST_MARK: Final = 9
"""The most bytes of what ``_FOLLOWED`` and ``_PRECEDED`` match."""
_NOWHERE: Final = b"\xff\xff"  # never occurs in UTF-8

Match = tuple[int, int, bytes]
"""Start and end in a text, and the label that replaces it."""

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


@dataclass(slots=True, repr=False, eq=False)
class Source:
    """The text of a form. ``is_even``: each byte of the form encodes an equal share of the text, as in base64."""

    text: bytes
    is_even: bool = False


class Parts:
    """
    Finds distinctive parts of patterns: runs of 12 characters, or 8 at an end if ``...`` replaces the rest.

    :param sources: pattern -> its source, plain texts first; parts of other patterns are not searched for
    :param labels: pattern -> the label that replaces it
    """

    __slots__ = ("_candidates", "_labels", "_sources", "_spots")

    def __init__(self, sources: Mapping[bytes, Source], labels: Mapping[bytes, bytes]) -> None:
        self._sources = dict(sources)
        self._labels = labels
        self._spots: dict[bytes, Spots] = {}
        self._candidates: dict[int, list[_Candidate]] = {}

    def stretches(self) -> dict[bytes, Stretches]:
        """Return where distinctive runs can be, for as many patterns as the table has room for."""
        found: dict[bytes, Stretches] = {}
        size = 0
        for pattern, source in self._sources.items():
            size += len(pattern)
            if size <= _MOST_OCTETS:
                found[pattern] = Stretches(self._telling_ranges(pattern, source), *self._lengths(pattern))
            elif source.is_even:
                found[pattern] = Stretches((), *self._lengths(pattern))
        return found

    def _telling_ranges(self, pattern: bytes, source: Source) -> Sequence[Range]:
        # Examining a pattern that is random, or short, takes longer than searching for its superfluous windows.
        if len(source.text) < RUN or is_random(source.text[:LONGEST]):
            return ((0, min(len(pattern), LONGEST)),)
        return tuple(self._of(pattern).stretches(len(pattern)))

    def plain(self) -> dict[bytes, bytes]:
        """Return the text of each pattern that contains unchanged parts of it."""
        return {pattern: source.text for pattern, source in self._sources.items() if not source.is_even}

    def find(self, data: bytes, hits: Hits, entries: Sequence[Sequence[Entry]], taken: Sequence[Match]) -> list[Match]:
        """
        Return the parts in ``data`` that are outside of ``taken``.

        :param entries: for each window, the patterns that contain it
        :param taken: matches of whole patterns, in order
        """
        found: list[Match] = []
        first = last = 0  # of the part with the highest end
        gaps = _gaps(taken, len(data))
        low, high = next(gaps)
        for index, start, end in hits:
            while high < end and (gap := next(gaps, None)):
                low, high = gap
            is_inside = first + _LONGEST_RUN <= start < last - _LONGEST_RUN
            if not is_inside and low <= start and end <= high and (near := self._near(data, start, index, entries)):
                matches = list(self._matches(_Text(data, low, high, start), near, (first, last)))
                found += matches
                first, last = max([(first, last), *(match[:2] for match in matches)], key=itemgetter(1))
        return found

    def _near(self, data: bytes, window: int, index: int, entries: Sequence[Sequence[Entry]]) -> list[_Candidate]:
        """Return the patterns of which ``data`` has one of the nearest distinctive parts around the window."""
        if index not in self._candidates:
            self._candidates[index] = list(islice(self._telling(entries[index]), _MOST_ENTRIES))
        return [
            each
            for each in self._candidates[index]
            if data.startswith(each.after, window) or data.endswith(each.before, 0, window + WINDOW)
        ]

    def _telling(self, entries: Iterable[Entry]) -> Iterator[_Candidate]:
        for pattern, place in entries:
            source = self._sources.get(pattern)
            if source and self._of(pattern if source.is_even else source.text):
                found = self._of(pattern)
                nearest = [_nearest(each, place) for each in (found.runs, found.cuts)]
                after = min((end for _, end in nearest if end is not None), default=None)
                before = max((begin for begin, _ in nearest if begin is not None), default=None)
                yield _Candidate(
                    pattern,
                    place,
                    _NOWHERE if after is None else pattern[place:after],
                    _NOWHERE if before is None else pattern[before : place + WINDOW],
                )

    def _of(self, pattern: bytes) -> Spots:
        if pattern not in self._spots:
            source = self._sources.get(pattern)
            self._spots[pattern] = spots(pattern, source.text if source and source.is_even else pattern)
        return self._spots[pattern]

    def _matches(self, text: _Text, near: Iterable[_Candidate], known: Range) -> Iterator[Match]:
        """Yield the parts of the patterns that are ``near``, except those inside ``known``."""
        for each in near:
            pattern, place = each.pattern, each.place
            first, last, start = text.shared(pattern, place, _AROUND)
            is_known = known[0] <= start and start + last - first <= known[1]
            if not is_known and self._tells(text, pattern, first, last, start):
                if text.window >= known[1] and max(place - first, last - place) >= _AROUND:
                    first, last, start = text.shared(pattern, place, len(pattern))
                yield start, start + last - first, self._labels[pattern]
                plain = self._sources[pattern].text  # can match further than its form
                if plain != pattern and (at := plain[:LONGEST].find(text.data[start : start + last - first])) >= 0:
                    first, last, start = text.shared(plain, at + text.window - start, len(plain))
                    yield start, start + last - first, self._labels[pattern]

    def _tells(self, text: _Text, pattern: bytes, first: int, last: int, start: int) -> bool:
        """Return whether ``first`` to ``last`` of ``pattern``, at ``start`` in ``text``, is distinctive."""
        size = last - first
        end = start + size
        run, cut = self._lengths(pattern)
        is_cut = size >= cut and (
            (first == 0 and text.goes_on_after(start, end))
            or (last == len(pattern) and text.went_on_before(start, end))
        )
        if not is_cut and size < run:
            return False
        found, place = self._of(pattern), first
        plain = self._sources[pattern].text
        if not self._sources[pattern].is_even and (at := plain[:LONGEST].find(text.data[start:end])) >= 0:
            found, place = self._of(plain), at  # what is a host is best seen in the text
        return holds(found.cuts if is_cut else found.runs, place, place + size)

    def _lengths(self, pattern: bytes) -> tuple[int, int]:
        source = self._sources[pattern]
        return lengths(len(pattern) / len(source.text)) if source.is_even else (RUN, CUT)


@dataclass(slots=True, repr=False, eq=False)
class _Candidate:
    """
    A pattern that contains a window.

    :param place: position of the window
    :param after: from the window to the end of the next distinctive part
    :param before: from the beginning of the previous distinctive part to the end of the window
    """

    pattern: bytes
    place: int
    after: bytes
    before: bytes


@dataclass(slots=True, repr=False, eq=False)
class _Text:
    """A text around a ``window``, and the part of it to search, from ``low`` to ``high``."""

    data: bytes
    low: int
    high: int
    window: int

    def shared(self, pattern: bytes, place: int, most: int) -> tuple[int, int, int]:
        """
        Return the equal part around the window, in whole characters: start and end in ``pattern``, start in the text.

        :param place: start of the window in ``pattern``
        :param most: bytes to compare before the window, and from it on
        """
        data, window = self.data, self.window
        before = _equal_before(
            data[max(self.low, window - min(place, most)) : window], pattern[max(0, place - most) : place]
        )
        after = equal_after(data[window : min(self.high, window + most)], pattern[place : place + most])
        start, end = window - before, window + after
        while start < end and data[start] & 0xC0 == 0x80:
            start += 1
        while start < end < len(data) and data[end] & 0xC0 == 0x80:
            end -= 1
        return place - window + start, place - window + end, start

    def goes_on_after(self, start: int, end: int) -> bool:
        """Return whether ``...`` follows; the pattern can itself end in dots."""
        dots = end - start - len(self.data[start:end].rstrip(b"."))
        return any(re.match(_FOLLOWED, self.data[place : place + _LONGEST_MARK]) for place in {end, end - dots})

    def went_on_before(self, start: int, end: int) -> bool:
        """Return whether ``...`` precedes."""
        dots = end - start - len(self.data[start:end].lstrip(b"."))
        places = {start, start + dots}
        return any(re.search(_PRECEDED, self.data[max(0, place - _LONGEST_MARK) : place]) for place in places)


def _nearest(found: Sequence[Range], place: int) -> tuple[int | None, int | None]:
    """Return the start of the last range that ends before or with the window at ``place``, and the end of the next."""
    behind = bisect_right(found, place + WINDOW, key=itemgetter(1))
    return found[behind - 1][0] if behind else None, found[behind][1] if behind < len(found) else None


def _gaps(taken: Iterable[Match], end: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges between the matches in ``taken``."""
    place = 0
    for first, last, _ in taken:
        yield place, first
        place = last
    yield place, end


def equal_after(one: bytes, other: bytes) -> int:
    """Return how many bytes are equal at the beginning."""
    size = min(len(one), len(other))
    if one[:size] == other[:size]:
        return size
    difference = int.from_bytes(one[:size]) ^ int.from_bytes(other[:size])
    return size - (difference.bit_length() + 7) // 8


def _equal_before(one: bytes, other: bytes) -> int:
    """Return how many bytes are equal at the end."""
    size = min(len(one), len(other))
    one, other = one[len(one) - size :], other[len(other) - size :]
    if one == other:
        return size
    difference = int.from_bytes(one) ^ int.from_bytes(other)
    return ((difference & -difference).bit_length() - 1) // 8


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
