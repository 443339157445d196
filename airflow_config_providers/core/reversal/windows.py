"""Short parts of patterns that are looked for first."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from airflow_config_providers.core.reversal.automaton import BytesAhoCorasick, Implementation

WINDOW: Final = 5
"""Octets of a window."""

_FIRST: Final = 3
"""Octets that the first window of a pattern may stand behind its beginning, so that a cut pattern of 8 has it."""

_NEXT: Final = 16
"""Octets that the second window of a pattern may stand behind the first one."""

NEAR: Final = 16
"""
Octets that the first window of a pattern may stand behind its beginning.

But for hexadecimal that begins with as many digits and no letter; its window is farther on.
"""

_SECOND: Final = 80
"""Octets of a pattern behind which no window is needed to find the whole of it."""

_LARGEST_TABLE: Final = 40_000
"""Windows up to which the table twice as fast, and ten times as large, is built: some 2 kB for each."""

_SELDOM: Final = (
    "[A-Z][^a-z]",
    "[^ 0-9A-Za-z][A-Z]|[^ 0-9A-Za-z]{2}",
    "[0-9a-z][A-Z]",
    "[A-Z]",
    "[^ 0-9A-Za-z]",
    "[a-z][^ a-z]",
    "[a-z][^ ]{4}",
    "[a-z]",
    "[0-9][^0-9]",
)
"""
How windows begin, the best first: with what is seldom in a log, so that the search seldom leaves its first states.

Two digits are in every number of a log; a capital letter before a digit is not.
"""

_BEHIND: Final = WINDOW - 2
"""Octets of a window behind those by which it is picked."""

_FARTHER: Final = 24
"""Octets by which a window may stand farther on, where all that are near are digits, as in hexadecimal."""

Hits = Sequence[tuple[int, int, int]]
"""Index of a window, its start and its end in a text."""

Find = Callable[[bytes, bool], Hits]
"""Finds windows in a text; with True also those that overlap."""

Entry = tuple[bytes, int]
"""A pattern, and where a window stands in it."""

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Stretches:
    """
    Where windows stand so close that every run has one.

    :param ranges: parts of a pattern, in order, which do not overlap
    :param run: octets of a run
    :param cut: octets of a run at the end of the pattern
    """

    ranges: Sequence[Range]
    run: int
    cut: int


@dataclass(frozen=True, slots=True)
class Reach:
    """
    How far the patterns with a window may reach.

    :param places: where the window stands in them
    :param longest: how long such a pattern may be
    """

    places: Sequence[int]
    longest: int


class Windows:
    """
    Finds a window of each pattern, and a second one where two have room; a break leaves one of the two whole.

    :param patterns: what is looked for by its windows
    :param stretches: for some patterns, where they need more windows
    :param plain: for some patterns, another one that has windows in common with them
    :param others: what is found with the windows and is no part of a pattern
    """

    __slots__ = ("_reaches", "entries", "find", "windows")

    def __init__(
        self,
        patterns: Iterable[bytes],
        stretches: Mapping[bytes, Stretches] | None = None,
        *,
        plain: Mapping[bytes, bytes] | None = None,
        others: Iterable[bytes] = (),
    ) -> None:
        found: defaultdict[bytes, list[Entry]] = defaultdict(list)
        stretches, plain = stretches or {}, plain or {}
        known: dict[bytes, list[bytes]] = {}  # windows of plain patterns
        for pattern in patterns:
            other = plain.get(pattern, b"")
            places = _places(pattern, stretches.get(pattern), known.get(other, ()))
            for place in places:
                found[pattern[place : place + WINDOW]].append((pattern, place))
            if other == pattern:
                known[pattern] = [pattern[place : place + WINDOW] for place in places]
        for other in others:
            found.setdefault(other, [])
        self.windows = sorted(found)  # the table is faster when neighbours are alike
        is_small = len(self.windows) <= _LARGEST_TABLE
        self.find = _table(self.windows, Implementation.DFA if is_small else Implementation.ContiguousNFA)
        self.entries = [found[window] for window in self.windows]
        self._reaches: dict[int, Reach | None] = {}

    def reach(self, index: int) -> Reach | None:
        """Give how far the patterns may reach that are found by this window; None if it is there for runs alone."""
        if index not in self._reaches:
            entries = [entry for entry in self.entries[index] if entry[1] <= _SECOND]
            longest = max((len(pattern) for pattern, _ in entries), default=0)
            self._reaches[index] = Reach(sorted({place for _, place in entries}), longest) if entries else None
        return self._reaches[index]


def beginnings(patterns: Iterable[bytes]) -> Find:
    """Give what finds the windows with which patterns begin; small, as it is asked for ends of lines alone."""
    return _table(sorted({pattern[:WINDOW] for pattern in patterns}), Implementation.ContiguousNFA)


def _places(pattern: bytes, stretches: Stretches | None, known: Sequence[bytes]) -> list[int]:
    """
    Give the places of windows: two that do not overlap, if they have room, and those of stretches.

    :param known: windows that are better than others, as they are there in any case
    """
    room, end = len(pattern) - 2 * WINDOW, len(pattern) - _BEHIND
    farthest = stretches.cut - WINDOW if stretches else _FIRST
    farthest = farthest if room < 0 else min(farthest, room)
    first = pattern.find(known[0], 0, farthest + WINDOW) if known else -1
    if first < 0:
        found = _pick(0, farthest, farther=_FARTHER if farthest > _FIRST else 0).match(pattern, 0, end)
        if not found:
            return [0]
        first = found.end()
    places = [first]
    if stretches:
        for stretch in stretches.ranges:
            _fill(pattern, places, stretch, stretches.run, stretches.cut)
    if len(places) == 1 or places[1] > first + _NEXT:
        places[1:1] = _second(pattern, first, known)
    return places


def _second(pattern: bytes, first: int, known: Sequence[bytes]) -> list[int]:
    for window in known:
        place = pattern.find(window, first + WINDOW, first + _NEXT + WINDOW)
        if place >= 0:
            return [place]
    found = _pick(WINDOW, _NEXT, is_near="?", farther=_FARTHER).match(pattern, first, len(pattern) - _BEHIND)
    return [found.end()] if found else []


def _fill(pattern: bytes, places: list[int], stretch: Range, run: int, cut: int) -> None:
    """Add windows so that each run in ``stretch`` has one, and a cut one at the end of the pattern."""
    first, last = stretch
    farthest = run - WINDOW
    end = last - run if last < len(pattern) else last - cut
    if places[-1] < first and (found := _pick(0, farthest).match(pattern, first, len(pattern) - _BEHIND)):
        places.append(found.end())
    while places[-1] < end:
        found = _pick(WINDOW, farthest + 1).match(pattern, places[-1], len(pattern) - _BEHIND)
        places.append(found.end() if found else len(pattern) - WINDOW)


@cache
def _pick(first: int, last: int, *, is_near: str = "", farther: int = 0) -> re.Pattern[bytes]:
    """
    Give what picks the best window that begins so many octets on.

    :param is_near: ``?`` for the first of equals; else the last, so that they are few
    :param farther: by how much more, where all of these begin with a digit
    """
    ranges = [(begin, last, is_near) for begin in _SELDOM] + [("[^0-9]", last + farther, "?"), ("..", last, is_near)]
    choices = (f".{{{first},{end}}}{near}(?=(?:{begin}))" for begin, end, near in ranges)
    return re.compile("|".join(choices).encode(), re.DOTALL)


def _table(windows: Sequence[bytes], kind: Implementation) -> Find:
    found: Find = BytesAhoCorasick(windows, implementation=kind).find_matches_as_indexes
    return found
