"""Find parts of patterns, as left by a table, a log or a parser that truncates values."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from typing import Final

from airflow_config_providers.core.reversal.revealing import CUT, LONGEST, RUN, Spots, holds, is_random, lengths, spots
from airflow_config_providers.core.reversal.windows import WINDOW, Entry, Hits, Range, Stretches

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
