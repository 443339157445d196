"""Short parts of patterns that are looked for first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from airflow_config_providers.core.automaton import BytesAhoCorasick, Implementation

WINDOW: Final = 5
"""Octets of a window."""

NEAR: Final = 16
"""Octets that a window may stand behind the first place that it could have. It bounds how far two are apart."""

_LARGEST_TABLE: Final = 40_000
"""Windows up to which the table twice as fast, and ten times as large, is built: some 2 kB for each."""

_BEGIN: Final = "|".join(
    f".{{0,{NEAR}}}?(?={begin})" for begin in ("[A-Z][0-9A-Za-z]{4}", "[A-Z].{4}", "[^ 0-9a-z].{4}", "[a-z].{4}", "")
)
"""
How windows begin, the best first: with what is seldom in a log, so that the search seldom leaves its first state.

Letters and digits in front, since most encodings of a text leave them as they are, so that all have one window.
"""
_ONE: Final = re.compile(f"({_BEGIN})".encode(), re.DOTALL)
_TWO: Final = re.compile(f"({_BEGIN}).{{{WINDOW}}}({_BEGIN})(?=.{{{WINDOW}}})".encode(), re.DOTALL)

Hits = Sequence[tuple[int, int, int]]
"""Index of a window, its start and its end in a text."""

Find = Callable[[bytes, bool], Hits]
"""Finds windows in a text; with True also those that overlap."""


@dataclass(slots=True)
class Reach:
    """
    How far the patterns with a window may reach.

    :param places: where the window stands in them
    :param longest: how long such a pattern may be
    """

    places: set[int]
    longest: int


class Windows:
    """
    Finds a window of each pattern, and a second one where two have room; a break leaves one of the two whole.

    :param patterns: what is looked for by its windows
    """

    __slots__ = ("find", "reaches")

    def __init__(self, patterns: Iterable[bytes]) -> None:
        reaches: dict[bytes, Reach] = {}
        for pattern in patterns:
            for place in _places(pattern):
                reach = reaches.setdefault(pattern[place : place + WINDOW], Reach(set(), 0))
                reach.places.add(place)
                reach.longest = max(reach.longest, len(pattern))
        windows = sorted(reaches)  # the table is faster when neighbours are alike
        is_small = len(windows) <= _LARGEST_TABLE
        self.find = _table(windows, Implementation.DFA if is_small else Implementation.ContiguousNFA)
        self.reaches = [reaches[window] for window in windows]


def beginnings(patterns: Iterable[bytes]) -> Find:
    """Give what finds the windows with which patterns begin; small, as it is asked for ends of lines alone."""
    return _table(sorted({pattern[:WINDOW] for pattern in patterns}), Implementation.ContiguousNFA)


def _places(pattern: bytes) -> list[int]:
    """Give the places of two windows that do not overlap, or of one where two have no room."""
    found = _TWO.match(pattern) or _ONE.match(pattern)
    return [found.end(group) for group in range(1, found.re.groups + 1)] if found else [0]


def _table(windows: Sequence[bytes], kind: Implementation) -> Find:
    found: Find = BytesAhoCorasick(windows, implementation=kind).find_matches_as_indexes
    return found
