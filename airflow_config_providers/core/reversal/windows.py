"""Windows: short parts of patterns that are searched for first."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from airflow_config_providers.core.reversal.automaton import BytesAhoCorasick, Implementation

WINDOW: Final = 5
"""Bytes of a window."""

_FIRST: Final = 3
"""Largest offset in bytes of the first window of a pattern, so that a truncated pattern of 8 contains it."""

_NEXT: Final = 16
"""Largest distance in bytes between the first two windows of a pattern."""

NEAR: Final = 16
"""
Largest offset in bytes of the first window of any pattern.

The exception is hexadecimal that begins with as many digits and no letter; its window begins later.
"""

_SECOND: Final = 80
"""Bytes of a pattern after which no window is needed to find the whole pattern."""

_LARGEST_TABLE: Final = 40_000
"""Most windows for which the table is used that is twice as fast but ten times as large: about 2 kB per window."""

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
Beginnings of windows, the best first: rare in a log, so that the search rarely leaves its first states.

Two digits are in every number of a log; a capital letter before a digit is rare.
"""

_BEHIND: Final = WINDOW - 2
"""Bytes of a window after those by which it is picked."""

_FARTHER: Final = 24
"""Bytes by which a window can begin later if all near bytes are digits, as in hexadecimal."""

Hits = Sequence[tuple[int, int, int]]
"""Index of a window, its start and its end in a text, for each hit."""

Find = Callable[[bytes, bool], Hits]
"""Finds windows in a text; with True, also overlapping ones."""

Entry = tuple[bytes, int]
"""A pattern, and the position of a window in it."""

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Stretches:
    """
    Parts of a pattern with windows so close together that every run contains one.

    :param ranges: the parts, in order, without overlaps
    :param run: bytes of a run
    :param cut: bytes of a run at the end of the pattern
    """

    ranges: Sequence[Range]
    run: int
    cut: int


@dataclass(frozen=True, slots=True)
class Reach:
    """
    The extent of the patterns that contain a window.

    :param places: positions of the window in the patterns
    :param longest: length of the longest of them
    """

    places: Sequence[int]
    longest: int


class Windows:
    """
    Finds a window of each pattern, and a second one if it has room for two; a line break leaves one of them whole.

    :param patterns: the patterns to find by their windows
    :param stretches: for some patterns, the parts that need more windows
    :param plain: for some patterns, another pattern that has windows in common with them
    :param others: byte strings that are also found, but are not part of a pattern
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
        self.windows = sorted(found)  # the table is faster if similar windows are adjacent
        is_small = len(self.windows) <= _LARGEST_TABLE
        self.find = _table(self.windows, Implementation.DFA if is_small else Implementation.ContiguousNFA)
        self.entries = [found[window] for window in self.windows]
        self._reaches: dict[int, Reach | None] = {}

    def reach(self, index: int) -> Reach | None:
        """Return the extent of the patterns that this window finds; None if it only finds runs."""
        if index not in self._reaches:
            entries = [entry for entry in self.entries[index] if entry[1] <= _SECOND]
            longest = max((len(pattern) for pattern, _ in entries), default=0)
            self._reaches[index] = Reach(sorted({place for _, place in entries}), longest) if entries else None
        return self._reaches[index]


def beginnings(patterns: Iterable[bytes]) -> Find:
    """Return a function that finds windows at the beginning of patterns; a small table, used only for ends of lines."""
    return _table(sorted({pattern[:WINDOW] for pattern in patterns}), Implementation.ContiguousNFA)


def _places(pattern: bytes, stretches: Stretches | None, known: Sequence[bytes]) -> list[int]:
    """
    Return the positions of windows: two that do not overlap, if there is room, and those in stretches.

    :param known: windows to prefer, because the table already contains them
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
    """Add windows so that each run in ``stretch`` has one, including a shorter one at the end of the pattern."""
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
    Return a regular expression that picks the best window at an offset from ``first`` to ``last``.

    :param is_near: ``?`` for the first of equally good windows; otherwise the last, so that there are fewer windows
    :param farther: bytes to add to ``last`` if all nearer windows begin with a digit
    """
    ranges = [(begin, last, is_near) for begin in _SELDOM] + [("[^0-9]", last + farther, "?"), ("..", last, is_near)]
    choices = (f".{{{first},{end}}}{near}(?=(?:{begin}))" for begin, end, near in ranges)
    return re.compile("|".join(choices).encode(), re.DOTALL)


def _table(windows: Sequence[bytes], kind: Implementation) -> Find:
    found: Find = BytesAhoCorasick(windows, implementation=kind).find_matches_as_indexes
    return found
