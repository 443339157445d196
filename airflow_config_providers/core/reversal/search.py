"""Find many patterns at once, and replace them."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final

from airflow_config_providers.core.reversal.encodings import (
    ESCAPE,
    ESCAPED,
    MARKS,
    PREFIX,
    REFERENCES,
    Copy,
    decoded,
    dereferenced,
    spaced,
    uncoloured,
    unescaped,
)
from airflow_config_providers.core.reversal.patterns import Match, Parts, Source, WholePatterns
from airflow_config_providers.core.reversal.windows import NEAR, WINDOW, Find, Hits, Range, Windows, beginnings

_CHUNK: Final = 64 * 1024
"""Bytes that are searched at a time, which limits the memory for matches."""

_DENSE: Final = 32
"""If there is a window for every so many bytes, the whole text is searched, not only around the windows."""

LONGEST_OPEN: Final = 4096
"""Bytes at the end of a text that are searched for the beginning of a pattern."""

_INDENT: Final = 128
"""Largest indentation, in bytes, of a line that continues a pattern from the line before."""

_BEFORE: Final = 128
"""Bytes before a piece of a long text that are searched with it: they can be the ``...`` of a truncated value."""

_NEAR_END: Final = NEAR + WINDOW
"""Bytes at the end of a text without windows in which a pattern can begin."""

_SHORT_NUMBER: Final = 7
"""The most digits of a number that is not found inside a longer one. Times, counts and IDs contain any short number."""

_NUMBER_BEGINS: Final = re.compile(
    rb"(?:\A|[^0-9]|(?:%(?:25)*|=|\\x)[0-9A-Fa-f]{2}|[%\\]u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}|\\[0-7]{1,3})0*\Z"
)
"""Ends where a number can begin: after the escape of a character, as in ``%20``, and after the zeros that pad it."""

_LONGEST_BEGINNING: Final = 32
"""How many bytes before a number are asked where it begins."""

_BLANKS: Final = b" \t\r"
_END_OF_LINE: Final = b" \t\r'\"\\"
_END_OF_TEXT: Final = _END_OF_LINE + b"\n"
_QUOTES: Final = (b"'", b'"', b"\\")
_QUOTES_OF_LINE: Final = b"b'\""
_BEGIN_OF_LINE: Final = re.compile(rb"[ \t]*(?:b?['\"])?")
_BREAKS: Final = ((b"", False), (b" ", False), (b"", True), (b" ", True))
"""What joins the lines of a broken text, and whether programs have put quotes around each line."""

_DEEPEST_COPY: Final = 2
"""How deep copies of copies are searched: text can be coloured and escaped, in either order."""

_CHANGES: Final = ((ESCAPE, uncoloured), (b"\\", unescaped), (b"&", dereferenced))
"""Marks in a line that can end with the beginning of a value, and the function that makes a copy without them."""


class Finder:
    """
    Finds every occurrence of every pattern, also where they overlap, in time linear in the text.

    A table finds windows, which are parts of patterns. Only around a window does an automaton look for whole patterns;
    most lines of a log have none. A pattern of twice ``WINDOW`` bytes or more is also found if it is broken over lines,
    with the indentation, quotes, or backslash that programs insert. One break in every 26 bytes leaves one of its two
    windows whole.

    Distinctive parts of a pattern are found, too, and so are patterns with colours or escapes in them. A number of up
    to ``_SHORT_NUMBER`` digits is not found inside a longer number.

    :param labels: pattern -> the label that replaces it; no pattern is empty
    :param sources: pattern -> its source, for the patterns of which parts are searched for, too
    """

    __slots__ = (
        "_automaton",
        "_beginnings",
        "_continuations",
        "_labels",
        "_longest",
        "_marks",
        "_parts",
        "_sorted",
        "_unchanging",
        "_windows",
    )

    def __init__(self, labels: Mapping[bytes, bytes], sources: Mapping[bytes, Source] | None = None) -> None:
        self._labels = dict(labels)
        self._automaton: WholePatterns | None = None
        self._beginnings: Find | None = None
        self._continuations: frozenset[bytes] = frozenset()
        self._sorted: list[bytes] = []
        self._unchanging: dict[int, frozenset[tuple[int, int]]] = {}
        self._longest = max(map(len, labels), default=0)
        self._parts = Parts(sources or {}, self._labels)
        marks = dict.fromkeys(spaced({source.text for source in sources.values()}), PREFIX) if sources else {}
        marks.update((mark, mark) for mark in MARKS if labels)
        self._windows = Windows(self._labels, self._parts.stretches(), plain=self._parts.plain(), others=marks)
        self._marks = {index: marks[window] for index, window in enumerate(self._windows.windows) if window in marks}

    def find(self, data: bytes, beside: Sequence[Finder] = ()) -> list[Match]:
        """
        Return the matches in ``data``, in order; overlapping matches are merged.

        :param beside: all whose matches are replaced in ``data``, if there are others. A short number beside a match
            of another is not part of a longer number
        """
        if len(data) > _CHUNK:
            return self._find_long(data, beside)
        hits = self._windows.find(data)
        return self._confirmed(data, hits, beside) if hits else []

    def clues(self, data: bytes) -> Iterator[Range]:
        """
        Yield the ranges of the windows in ``data``, which can be several texts in a row.

        A text without one has no match, and it depends on nothing around a window whether it is one.
        """
        return ((start, end) for _, start, end in self._windows.find(data))

    def open_end(self, data: bytes) -> int:
        """Return the position at which a pattern can begin that the next line continues; otherwise the end."""
        is_coloured = ESCAPE in data[-LONGEST_OPEN:]  # which makes a pattern longer
        first = max(0, len(data) - (LONGEST_OPEN if is_coloured else min(self.margin, LONGEST_OPEN)))
        return first + self._open_from(data[first:])

    def continues(self, before: bytes, lines: bytes) -> bool:
        """
        Return whether all of ``lines`` continue a pattern, which can go on after them.

        :param before: the text before them, which ends with fewer than ``WINDOW`` bytes of the pattern
        """
        self._continuations = self._continuations or self._second_parts()
        start = lines[: 2 * _INDENT].lstrip(_BLANKS)
        if self._continuations.isdisjoint((start[:WINDOW], start.lstrip(_QUOTES_OF_LINE)[:WINDOW])):
            return False
        end = before[-_INDENT:].rstrip(_END_OF_TEXT)
        return any(self._goes_on(end[-size:] + b"\n" + lines) for size in range(1, min(WINDOW, len(end) + 1)))

    def _second_parts(self) -> frozenset[bytes]:
        """Return what can begin a line after one that ends with fewer than ``WINDOW`` bytes of a pattern."""
        places = range(1, WINDOW)
        return frozenset(
            label[at : at + 2 * WINDOW].lstrip(_BLANKS)[:WINDOW] for label in self._labels for at in places
        )

    def is_clear(self, data: bytes) -> bool:
        """Return whether no pattern begins in ``data``, except one with too few bytes at the end to be recognized."""
        if hits := self._windows.find(data):
            if any(self._windows.entries[index] for index, _, _ in hits):
                return False
            return not self._confirmed(data, hits) and self.open_end(data) == len(data)
        tail = data[max(0, len(data.rstrip(_END_OF_TEXT)) - _NEAR_END) :]
        if self._beginnings and not self._beginnings(tail, True):
            return True
        return self._plain_open_from(tail) == len(tail)  # without hits, a copy would change nothing

    @property
    def margin(self) -> int:
        """Longest match in bytes, including line breaks."""
        return 2 * (self._longest + _INDENT)

    def _open_from(self, tail: bytes) -> int:
        """Return the first position from which all of ``tail`` can begin a pattern; otherwise its end."""
        place = self._plain_open_from(tail)
        for mark, change in _CHANGES:
            copy = change(tail) if mark in tail else None
            if copy and copy.data != tail and (opened := self._plain_open_from(copy.data)) < len(copy.data):
                place = min(place, copy.place(opened))
        return place

    def _plain_open_from(self, tail: bytes) -> int:
        find = self._beginnings = self._beginnings or beginnings(self._labels)
        for _, start, _ in find(tail, True):
            if self._goes_on(tail[start:]):
                return start
        return len(tail)

    def _find_long(self, data: bytes, beside: Sequence[Finder]) -> list[Match]:
        """Search piece by piece, each with a bit of the previous piece, and enough of the next for whole matches."""
        matches: list[Match] = []
        size = max(_CHUNK, self.margin)
        view = memoryview(data)  # most pieces have no window, so that they need not be copied
        for place in range(0, len(data), size):
            first, last = max(0, place - _BEFORE), place + size + self.margin
            hits = self._windows.find(view[first:last])
            found = self._confirmed(data[first:last], hits, beside) if hits else []
            matches += [
                (first + start, first + end, label) for start, end, label in found if first + start < place + size
            ]
        return merged(matches)

    def _confirmed(self, data: bytes, hits: Hits, beside: Sequence[Finder] = (), depth: int = 0) -> list[Match]:
        if unchanged := self._unchanged(data, hits):
            return unchanged
        whole = self._whole(data, hits, beside)
        parts = self._parts.find(data, hits, self._windows.entries, whole)
        in_copies = self._in_copies(data, hits, beside, depth) if depth < _DEEPEST_COPY else ()
        return merged([*whole, *parts, *in_copies])

    def _whole(self, data: bytes, hits: Hits, beside: Sequence[Finder]) -> list[Match]:
        matches = self._occurrences(data, hits)
        found = _without_chance(data, matches)
        others = [each for each in beside if each is not self] if len(found) < len(matches) else ()
        if not others:
            return found
        theirs = [match for each in others for match in each._occurrences(data, each._windows.find(data))]
        return _without_chance(data, merged([*matches, *theirs]))

    def _occurrences(self, data: bytes, hits: Hits) -> list[Match]:
        """Return where whole patterns are, also numbers that can be there by chance."""
        matches: list[Match] = []
        everywhere = [(0, len(data), b"")] if len(hits) * _DENSE > len(data) else None
        for start, end, _ in everywhere or merged(self._places(data, hits)):
            matches += self._search(data[start:end], start)
        if b"\n" in data:
            for start, end, _ in everywhere or merged(self._broken(data, hits)):
                matches += self._search_broken(data[start:end], start)
        return merged(matches)

    def _unchanged(self, data: bytes, hits: Hits) -> list[Match]:
        """
        Return the matches if each hit is in a pattern that is replaced by itself; otherwise none.

        Most logs show references rather than values. Then there is nothing to search for around the hits.
        """
        found: list[Match] = []
        labels = self._labels
        if labels.get(data) == data:
            return [(0, len(data), data)]
        for index, start, _ in hits:
            whole = [
                (start - place, start - place + len(text), text)  # shorter than the pattern at the end of the data
                for place, size in self._unchanging_at(index)
                if place <= start and labels.get(text := data[start - place : start - place + size]) == text
            ]
            if not whole:
                return []
            found += whole
        return merged(found)

    def _unchanging_at(self, index: int) -> frozenset[tuple[int, int]]:
        """Return the places of a window in patterns, with their lengths, if all of them are replaced by themselves."""
        if index not in self._unchanging:
            entries = () if index in self._marks else self._windows.entries[index]
            is_unchanging = all(self._labels[pattern] == pattern for pattern, _ in entries)
            self._unchanging[index] = frozenset((place, len(pattern)) for pattern, place in entries if is_unchanging)
        return self._unchanging[index]

    def _in_copies(self, data: bytes, hits: Hits, beside: Sequence[Finder], depth: int) -> Iterator[Match]:
        """Yield the matches in copies of ``data``, for copies that differ from it."""
        places = [(self._marks[index], start) for index, start, _ in hits if index in self._marks]
        kinds = {mark for mark, _ in places}
        if ESCAPE in kinds:
            yield from self._in_copy(data, uncoloured(data), beside, depth)
        if not kinds.isdisjoint(ESCAPED):
            yield from self._in_copy(data, unescaped(data), beside, depth)
        if not kinds.isdisjoint(REFERENCES):
            yield from self._in_copy(data, dereferenced(data), beside, depth)
        for first, last in _lines(data, (start for mark, start in places if mark == PREFIX)):
            for copy in decoded(data, first, last):
                yield from self._in_copy(data, copy, beside, depth)

    def _in_copy(self, data: bytes, copy: Copy, beside: Sequence[Finder], depth: int) -> Iterator[Match]:
        hits = self._windows.find(copy.data) if copy.data != data else ()
        for start, end, label in self._confirmed(copy.data, hits, beside, depth + 1) if hits else ():
            yield *copy.range(start, end), label  # also unchanged parts: their surroundings can differ

    def _places(self, data: bytes, hits: Hits) -> Iterator[Match]:
        """Yield the ranges in which a pattern can be."""
        for index, start, end in hits:
            if (reach := self._windows.reach(index)) and reach.begins(data, start, end):
                yield max(0, start - reach.places[-1]), start + reach.longest, b""

    def _broken(self, data: bytes, hits: Hits) -> Iterator[Match]:
        """Yield the ranges in which a pattern can be that is broken over lines."""
        for index, start, end in hits:
            if reach := self._windows.reach(index):
                last = start + 2 * (reach.longest + _INDENT)
                line_end = data.find(b"\n", start, start + reach.longest + _INDENT)
                begins = reach.begins(data, start, end) if line_end >= 0 else []
                if any(self._begins(data[begin:line_end]) for begin in begins):
                    yield min(begins), last, b""
                if (begin := _broken_head(data, start, reach.places[-1])) is not None:
                    yield begin, last, b""

    def _search(self, part: bytes, place: int) -> list[Match]:
        whole = self._automaton = self._automaton or WholePatterns(self._labels)
        return whole.find(part, place)

    def _search_broken(self, part: bytes, place: int) -> Iterator[Match]:
        for joint, is_quoted in _BREAKS:
            pieces = list(_pieces(part, is_quoted=is_quoted))
            places = [0, *accumulate(len(piece) + len(joint) for _, piece in pieces)]
            for start, end, label in self._search(joint.join(piece for _, piece in pieces), 0):
                first, last = bisect_right(places, start) - 1, bisect_left(places, end) - 1
                if first != last and end - start >= 2 * WINDOW:
                    begin = place + pieces[first][0] + start - places[first]
                    yield begin, place + pieces[last][0] + end - places[last], label

    def _begins(self, text: bytes) -> bool:
        """Return whether ``text`` is the beginning of a pattern, ignoring characters at the end of a line."""
        return self._has_more(text.rstrip(_END_OF_LINE))

    def _goes_on(self, text: bytes) -> bool:
        """Return whether a pattern begins with all the lines of ``text``."""
        if self._has_more(text):
            return True
        lines = text.rstrip(b"\n")
        return any(self._goes_on_joined(lines, joint, is_quoted=is_quoted) for joint, is_quoted in _BREAKS)

    def _goes_on_joined(self, lines: bytes, joint: bytes, *, is_quoted: bool) -> bool:
        """Return whether a pattern begins with the joined ``lines``; reads only as far as it does."""
        joined = b""
        for _, line in _pieces(lines, is_quoted=is_quoted):
            joined = joined + joint + line if joined else line
            if not self._begins(joined):
                return False
        return True

    def _has_more(self, beginning: bytes) -> bool:
        self._sorted = self._sorted or sorted(self._labels)
        place = bisect_left(self._sorted, beginning)
        nearest = self._sorted[place : place + 2]
        return any(found.startswith(beginning) and len(found.rstrip()) > len(beginning) for found in nearest)


def replace(data: bytes, matches: Iterable[Match]) -> bytes:
    """
    Replace ``matches``, in any order, by their labels.

    Matches that overlap are replaced as one, by the label of the longest, so that no part of any is left.
    Of equally long matches, the first wins.
    """
    pieces: list[bytes] = []
    position = 0
    for start, end, label in merged(matches):
        pieces += data[position:start], label
        position = end
    pieces.append(data[position:])
    return b"".join(pieces)


def _without_chance(data: bytes, matches: list[Match]) -> list[Match]:
    """Leave out short numbers that are parts of longer ones, and not of several values side by side."""
    starts, ends = {start for start, _, _ in matches}, {end for _, end, _ in matches}

    def is_by_chance(start: int, end: int) -> bool:
        if end - start > _SHORT_NUMBER or not data[start:end].isdigit():
            return False
        goes_on = end not in starts and data[end : end + 1].isdigit()
        return goes_on or (start not in ends and _follows_digit(data, start))

    return [match for match in matches if not is_by_chance(*match[:2])]


def _follows_digit(data: bytes, start: int) -> bool:
    """Return whether there is a digit before ``start`` that is part of the same number, and no zero that pads it."""
    before = data[max(0, start - _LONGEST_BEGINNING) : start]
    return before[-1:].isdigit() and not _NUMBER_BEGINS.search(before)


def merged(matches: Iterable[Match]) -> list[Match]:
    """Return ``matches`` in order; those that overlap are one, with the label of the longest."""
    ordered = sorted(matches)
    return list(_unions(ordered)) if len(ordered) > 1 else ordered


def _unions(matches: list[Match]) -> Iterator[Match]:
    """Join overlapping ``matches``, which are sorted and not empty."""
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


def _lines(data: bytes, places: Iterable[int]) -> Iterator[Range]:
    """Yield each line of ``data`` that has one of ``places``, which are in order."""
    end = 0
    for place in places:
        if place >= end:
            first, last = data.rfind(b"\n", 0, place) + 1, data.find(b"\n", place)
            end = last if last >= 0 else len(data)
            yield first, end


def _broken_head(data: bytes, place: int, length: int) -> int | None:
    """Return the start of a pattern that has ``length`` bytes before ``place``, if a line ends among them."""
    end = data.rfind(b"\n", max(0, place - length - _INDENT), place)
    if end < 0 or place - _begin(data, end + 1) >= length:
        return None
    first = max(0, end - _INDENT)
    return max(0, first + len(data[first:end].rstrip(_END_OF_LINE)) - length)


def _begin(data: bytes, place: int) -> int:
    found = _BEGIN_OF_LINE.match(data, place)
    return found.end() if found else place


def _pieces(data: bytes, *, is_quoted: bool) -> Iterator[tuple[int, bytes]]:
    """Yield the position of each line of ``data``, and the line without what programs add when they break a text."""
    start = end = 0
    while end < len(data):
        found = data.find(b"\n", start)
        end = found if found >= 0 else len(data)
        begin, until = _bounds(data[start:end], is_quoted=is_quoted)
        first, last = start + begin if start else 0, start + until if found >= 0 else end
        if first < last:
            yield first, data[first:last]
        start = end + 1


def _bounds(line: bytes, *, is_quoted: bool) -> Range:
    begin, end = len(line) - len(line.lstrip(_BLANKS)), len(line.rstrip(_BLANKS))
    if not is_quoted:
        return begin, end
    last = end - (line[end - 1 : end] in _QUOTES)
    first = _begin(line, 0)
    return first if first <= last else begin, last  # in a line that is only ``b'``, the letter belongs to the text
