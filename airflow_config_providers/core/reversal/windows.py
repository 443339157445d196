"""Windows: short parts of patterns that are searched for first, and the automaton that finds them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

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

_WORTH: Final = 1024
"""
Bytes to search, for each window, before that table is built. It takes three to five times as long to build, which most
logs of a task are too short to be worth.
"""

_SELDOM: Final = (
    ("A0", "AA", "A ", "A."),
    (".A", ".."),
    ("0A", "aA"),
    ("Aa", "A$"),
    (".0", ".a", ". ", ".$"),
    ("a0", "a."),
    ("aa",),
    ("a ", "a$"),
    ("0a", "0 ", "0."),
    (" 0", " a", " A", "  ", " .", " $"),
    ("00",),
    ("0$",),
)
"""
Beginnings of windows, the best first: rare in a log, so that the search rarely leaves its first states.

Each is the kind of a byte and of the next one: ``0`` a digit, ``a`` and ``A`` a letter, a space, ``.`` any other byte,
and ``$`` the end. Two digits are in every number of a log; a capital letter before a digit is rare.
"""

_IN_WORD, _END_OF_WORD, _SPACE, _TWO_DIGITS = (
    bytes(rank for rank, pairs in enumerate(_SELDOM) if pair in pairs) for pair in ("aa", "a ", " a", "00")
)
_DIGITS: Final = b"0123456789"

_BEHIND: Final = WINDOW - 2
"""Bytes of a window after those by which it is picked."""

_FARTHER: Final = 24
"""Bytes by which a window can begin later if all near bytes are digits, as in hexadecimal."""

Hits = Sequence[tuple[int, int, int]]
"""Index of a window, its start and its end in a text, for each hit."""

Find = Callable[[bytes | memoryview, bool], Hits]
"""Finds windows in a text; with True, also overlapping ones."""

Entry = tuple[bytes, int]
"""A pattern, and the position of a window in it."""

Range = tuple[int, int]


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
    from ahocorasick_rs import BytesAhoCorasick as BytesAhoCorasick  # noqa: PLC0414 - imported from here
    from ahocorasick_rs import Implementation as Implementation  # noqa: PLC0414 - as above
except ImportError:
    BytesAhoCorasick, Implementation = PlainAhoCorasick, PlainImplementation  # type: ignore[misc,assignment]  # the same in use


class Stretches(NamedTuple):
    """
    Parts of a pattern with windows so close together that every run contains one.

    :param ranges: the parts, in order, without overlaps
    :param run: bytes of a run
    :param cut: bytes of a run at the end of the pattern
    """

    ranges: Sequence[Range]
    run: int
    cut: int


class Reach(NamedTuple):
    """
    The extent of the patterns that contain a window.

    :param places: positions of the window in the patterns
    :param longest: length of the longest of them
    :param heads: their beginnings, up to the end of the window
    """

    places: Sequence[int]
    longest: int
    heads: frozenset[bytes]

    def begins(self, data: bytes, start: int, end: int) -> list[int]:
        """Return where patterns can begin in ``data`` whose window is from ``start`` to ``end``, without a break."""
        begins = [start - place for place in self.places if place <= start]
        return [begin for begin in begins if data[begin:end] in self.heads]


class Windows:
    """
    Finds a window of each pattern, and a second one if it has room for two; a line break leaves one of them whole.

    :param patterns: the patterns to find by their windows
    :param stretches: for some patterns, the parts that need more windows
    :param plain: for some patterns, another pattern that has windows in common with them
    :param others: byte strings that are also found, but are not part of a pattern
    """

    __slots__ = ("_find", "_reaches", "_until_worth", "entries", "windows")

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
        self._find = _table(self.windows, Implementation.ContiguousNFA)
        self._until_worth = _WORTH * len(self.windows) if len(self.windows) <= _LARGEST_TABLE else 0
        self.entries = [found[window] for window in self.windows]
        self._reaches: dict[int, Reach | None] = {}

    def find(self, data: bytes | memoryview) -> Hits:
        """Return the windows in ``data``, also overlapping ones."""
        if self._until_worth > 0:  # if two threads count at the same time, the faster table is built a bit later
            self._until_worth -= len(data)
            if self._until_worth <= 0:
                self._find = _table(self.windows, Implementation.DFA)
        return self._find(data, True)

    def reach(self, index: int) -> Reach | None:
        """Return the extent of the patterns that this window finds; None if it only finds runs."""
        if index not in self._reaches:
            entries = [entry for entry in self.entries[index] if entry[1] <= _SECOND]
            longest = max((len(pattern) for pattern, _ in entries), default=0)
            heads = frozenset(pattern[: place + WINDOW] for pattern, place in entries)
            places = sorted({place for _, place in entries})
            self._reaches[index] = Reach(places, longest, heads) if entries else None
        return self._reaches[index]


def beginnings(patterns: Iterable[bytes]) -> Find:
    """Return a function that finds windows at the beginning of patterns; a small table, used only for ends of lines."""
    return _table(sorted({pattern[:WINDOW] for pattern in patterns}), Implementation.ContiguousNFA)


def _places(pattern: bytes, stretches: Stretches | None, known: Sequence[bytes]) -> list[int]:
    """
    Return the positions of windows: two that do not overlap, if there is room, and those in stretches.

    :param known: windows to prefer, because the table already contains them
    """
    room, ranked = len(pattern) - 2 * WINDOW, _Ranked(pattern)
    farthest = stretches.cut - WINDOW if stretches else _FIRST
    farthest = farthest if room < 0 else min(farthest, room)
    first = pattern.find(known[0], 0, farthest + WINDOW) if known else -1
    if first < 0:
        first = ranked.pick(0, farthest, farther=_FARTHER if farthest > _FIRST else 0)
    if first < 0:
        return [0]
    places = [first]
    if stretches:
        for stretch in stretches.ranges:
            _fill(ranked, places, stretch, stretches.run, stretches.cut)
    if len(places) == 1 or places[1] > first + _NEXT:
        places[1:1] = _second(ranked, first, known)
    return places


def _second(ranked: _Ranked, first: int, known: Sequence[bytes]) -> list[int]:
    for window in known:
        place = ranked.pattern.find(window, first + WINDOW, first + _NEXT + WINDOW)
        if place >= 0:
            return [place]
    place = ranked.pick(first + WINDOW, first + _NEXT, is_near=True, farther=_FARTHER)
    return [place] if place >= 0 else []


def _fill(ranked: _Ranked, places: list[int], stretch: Range, run: int, cut: int) -> None:
    """Add windows so that each run in ``stretch`` has one, including a shorter one at the end of the pattern."""
    first, last = stretch
    farthest, length = run - WINDOW, len(ranked.pattern)
    end = last - run if last < length else last - cut
    if places[-1] < first and (place := ranked.pick(first, first + farthest)) >= 0:
        places.append(place)
    while places[-1] < end:
        place = ranked.pick(places[-1] + WINDOW, places[-1] + farthest + 1)
        places.append(place if place >= 0 else length - WINDOW)


class _Ranked:
    """A pattern whose positions are ranked, on first use, by how good a window begins there."""

    __slots__ = ("_ranks", "pattern")

    def __init__(self, pattern: bytes) -> None:
        self.pattern = pattern
        self._ranks = b""

    def pick(self, first: int, last: int, *, is_near: bool = False, farther: int = 0) -> int:
        """
        Return the best position of a window from ``first`` to ``last``; -1 if there is none.

        :param is_near: return the first of equally good positions; otherwise the last, so that there are fewer windows
        :param farther: bytes to add to ``last`` if all nearer windows begin with a digit
        """
        ranks = self._ranks = self._ranks or _ranks(self.pattern[:-_BEHIND])
        find, end = ranks.find if is_near else ranks.rfind, last + 1
        if (best := min(ranks[first:end], default=_SPACE[0])) < _SPACE[0]:
            return find(best, first, end)
        rest = self.pattern[first : min(end + farther, len(ranks))]
        behind_digits = rest.lstrip(_DIGITS)
        return first + len(rest) - len(behind_digits) if behind_digits else find(_TWO_DIGITS, first, end)


def _ranks(pattern: bytes) -> bytes:
    """
    Return, for each position of ``pattern``, the index in ``_SELDOM`` of what begins there.

    At the end of a word, a window would contain a space, or go beyond the pattern.
    """
    kinds = pattern.translate(_KINDS) + _END
    pairs = int.from_bytes(kinds[:-1]) | int.from_bytes(kinds[1:]) << _BITS
    words = pairs.to_bytes(len(pattern)).translate(_RANKS).split(_SPACE)
    return _SPACE.join([word[: 1 - WINDOW] + word[1 - WINDOW :].replace(_IN_WORD, _END_OF_WORD) for word in words])


_LETTERS: Final = "0aA .$"
_BITS: Final = 3
"""Bits of the index of a kind."""
_END: Final = bytes([_LETTERS.index("$")])
_LOWER: Final = b"abcdefghijklmnopqrstuvwxyz"
_KIND_OF: Final = {
    octet: kind for kind, octets in enumerate((_DIGITS, _LOWER, _LOWER.upper(), b" ")) for octet in octets
}
_KINDS: Final = bytes([_KIND_OF.get(octet, _LETTERS.index(".")) for octet in range(256)])
"""For each byte, the index of its kind in ``_LETTERS``."""
_RANK_OF: Final = {
    _LETTERS.index(pair[0]) | _LETTERS.index(pair[1]) << _BITS: rank
    for rank, pairs in enumerate(_SELDOM)
    for pair in pairs
}
_RANKS: Final = bytes([_RANK_OF.get(pair, 0) for pair in range(256)])


def _table(windows: Sequence[bytes], kind: Implementation) -> Find:
    found: Find = BytesAhoCorasick(windows, implementation=kind).find_matches_as_indexes
    return found
