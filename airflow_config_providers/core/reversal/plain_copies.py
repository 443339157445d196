r"""
Copies of a text without what programs insert between characters, or write for them: ``\u003d``, ``&#61;``, ``5a:71``.

Colours and the like can be inserted anywhere, so no list of encoded forms can contain every case.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Final

from airflow_config_providers.lazy import compiled_later

if TYPE_CHECKING:
    from airflow_config_providers.core.reversal.windows import Range

ESCAPE: Final = b"\x1b"
ESCAPED: Final = (rb"\u00", rb"\x", *(b"\\%c" % mark for mark in rb" !#$%&'()*+,-./:;<=>?@[]^_`{|}~"))
PREFIX: Final = b"0x"
REFERENCES: Final = (b"&#", b"&amp;", b"&lt;", b"&gt;", b"&quot;", b"&apos;")
MARKS: Final = (ESCAPE, *ESCAPED, *REFERENCES, PREFIX)
"""Byte strings in a text that make a copy necessary, in addition to those from ``spaced``."""

_SEPARATORS: Final = (" ", ":")
"""Separators between bytes in hexadecimal."""

_FEWEST: Final = 5
"""Fewest bytes in hexadecimal that are decoded."""

_GROUPS: Final = (2, 4)
"""The numbers of bytes between which ``xxd`` writes blanks, by default and as people set it."""

_sequence: Final = compiled_later(
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)|[ -/]+[0-~]|[0-Z\\^-~])"
)
"""What a terminal does not show (ECMA-48): colours and other styles, titles, links."""

_escaped: Final = compiled_later(rb"\\u00([0-7][0-9A-Fa-f])|\\x([0-9A-Fa-f]{2})|\\([ !#-/:-@\[\]-`{-~])")
_reference: Final = compiled_later(rb"&(?:#([0-9]{1,7})|#[xX]([0-9A-Fa-f]{1,6})|(amp|lt|gt|quot|apos));")
_NAMED: Final = {b"amp": b"&", b"lt": b"<", b"gt": b">", b"quot": b'"', b"apos": b"'"}
_QUOTED: Final = {b'"': rb"\"", b"\\": rb"\\"}


@cache
def _octets() -> re.Pattern[bytes]:
    octet = rb"[0-9A-Fa-f]{2}"
    one_by_one = rb"(?:0x)?%b(?:(?: {1,2}|:|-|, ?)(?:0x)?%b){%d,}" % (octet, octet, _FEWEST - 1)
    in_groups = (rb"(?:%b){%d}(?: (?:%b){%d})+(?: (?:%b){1,%d})?" % (octet, n, octet, n, octet, n) for n in _GROUPS)
    return re.compile(rb"(?<![0-9A-Za-z])(?:%b)(?![0-9A-Za-z])" % b"|".join((one_by_one, *in_groups)))


_OCTET: Final = re.compile(rb"(?:0x)?([0-9A-Fa-f]{2})")

Piece = tuple[int, int, bytes]
"""Start and end in the text, and the content of the copy; of the same length if unchanged."""


class Copy:
    """
    A copy of a text in which some parts are replaced.

    :param pieces: the parts of the copy, in order
    """

    __slots__ = ("_pieces", "_places", "data")

    def __init__(self, pieces: Iterable[Piece]) -> None:
        self._pieces = [piece for piece in pieces if piece[2]]
        self._places = [0, *accumulate(len(kept) for _, _, kept in self._pieces)]
        self.data = b"".join(kept for _, _, kept in self._pieces)

    def range(self, start: int, end: int) -> Range:
        """Return the range of the text from which the bytes from ``start`` to ``end`` of the copy were made."""
        first, last = bisect_right(self._places, start) - 1, bisect_right(self._places, end - 1) - 1
        begin, until, kept = self._pieces[first]
        if until - begin == len(kept):
            begin += start - self._places[first]
        origin, until, kept = self._pieces[last]
        if until - origin == len(kept):
            until = origin + end - self._places[last]
        return begin, until

    def place(self, place: int) -> int:
        """Return the position in the text for a position in the copy; its end is the end of the last piece."""
        return self.range(place, place + 1)[0] if place < len(self.data) else self.range(place - 1, place)[1]


def uncoloured(data: bytes) -> Copy:
    """Return ``data`` as a terminal shows it."""
    return Copy(_changed(data, _sequence(), lambda _: b""))


def unescaped(data: bytes) -> Copy:
    r"""
    Return ``data`` with the characters that ``\u0026``, ``\x26`` and ``\&`` represent.

    Double quotes and backslashes are escaped as in JSON, so that the copy contains a known form of every value.
    """
    return Copy(_changed(data, _escaped(), _character))


def dereferenced(data: bytes) -> Copy:
    """Return ``data`` with the characters that ``&#61;``, ``&#x3d;`` and ``&amp;`` represent in XML and HTML."""
    return Copy(_changed(data, _reference(), _referred))


def decoded(data: bytes, start: int, end: int) -> Iterator[Copy]:
    """Yield each text between ``start`` and ``end`` that is written in bytes, such as ``5a:71`` or ``0x5a, 0x71``."""
    for found in _octets().finditer(data, start, end):
        octets = _OCTET.finditer(data, *found.span())
        yield Copy((octet.start(), octet.end(), bytes.fromhex(octet[1].decode())) for octet in octets)


def spaced(texts: Iterable[bytes]) -> set[bytes]:
    """
    Return short strings, one of which each of ``texts`` contains if it is written in hexadecimal with blanks or colons.

    They start with a byte that ends in a letter, since few numbers in a log do; a text without one has a longer string.
    """
    pairs: set[tuple[int, int]] = set()
    longer: set[str] = set()
    grouped: set[str] = set()
    for text in texts:
        found = {(one, other >> 4) for one, other in pairwise(text) if one & 15 > 9}
        pairs |= found
        longer |= set() if found else {text[:4].hex(" ")}
        grouped.update(_between_groups(text))
    written = longer | {f"{one:02x} {other:x}" for one, other in pairs}
    marks = grouped | {octets.replace(" ", separator) for octets in written for separator in _SEPARATORS}
    return {case(mark).encode() for mark in marks for case in (str.lower, str.upper)}


def _between_groups(text: bytes) -> Iterator[str]:
    """Yield what is around a blank, for each place at which groups can begin and no pair of ``spaced`` is."""
    for size in _GROUPS:
        for first in range(1, min(size + 1, len(text))):
            ends = range(first, len(text), size)
            if not any(text[end - 1] & 15 > 9 for end in ends):
                yield text[first - 1 : first + 1].hex(" ")


def _changed(data: bytes, pattern: re.Pattern[bytes], change: Callable[[re.Match[bytes]], bytes]) -> Iterator[Piece]:
    place = 0
    for found in pattern.finditer(data):
        yield place, found.start(), data[place : found.start()]
        yield found.start(), found.end(), change(found)
        place = found.end()
    yield place, len(data), data[place:]


def _character(escape: re.Match[bytes]) -> bytes:
    if escape[1]:
        character = bytes.fromhex(escape[1].decode())
        return _QUOTED.get(character, character)
    return bytes.fromhex(escape[2].decode()) if escape[2] else escape[3]


def _referred(reference: re.Match[bytes]) -> bytes:
    if reference[3]:
        return _NAMED[reference[3]]
    try:
        return chr(int(reference[1]) if reference[1] else int(reference[2], 16)).encode()
    except ValueError:  # no character has this number
        return reference[0]
