"""
Which parts of a value reveal it, and which occur in many texts.

A machine-made secret has letters next to digits, and letter pairs that are rare in words: odd neighbours. A host, a
class, a path or a sentence has few of them, so a log that has the same host is left alone. All parts of a UUID and of a
long hexadecimal number reveal it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import ceil, floor
from typing import TYPE_CHECKING, Final, NamedTuple

from airflow_config_providers.lazy import compiled_later

if TYPE_CHECKING:
    from airflow_config_providers.core.reversal.windows import Range

RUN: Final = 12
"""Characters of a value that are found without the rest of it."""

CUT: Final = 8
"""Characters at the beginning or the end of a value that are found if ``...`` replaces the rest of it."""

_ODD_IN_RUN: Final = 3
_ODD_IN_CUT: Final = 2
"""Odd neighbours that make that many characters distinctive."""

_ODD_AROUND: Final = 5
"""Odd neighbours in 24 characters from which on two of them are enough: all were made by a machine."""

LONGEST: Final = 4096
"""Bytes of a value that are examined; a longer value is a document, whose lines are examined on their own."""

_LOWER: Final = b"abcdefghijklmnopqrstuvwxyz"
_KINDS: Final = bytes.maketrans(_LOWER + _LOWER.upper() + b"0123456789", b"a" * 26 + b"A" * 26 + b"0" * 10)
_CHANGES: Final = (b"a0", b"0a", b"A0", b"0A", b"aA")
_CHARACTERS_PER_CHANGE: Final = 6
"""Random text changes between letters, digits and case more often than once in so many characters."""


_known: Final = compiled_later(
    rb"""
    (?<![0-9A-Za-z]) (?:
        [a-z][a-z0-9+.-]{1,30}:// (?>(?:[^/?\#@\s]{1,200}@)?) (?P<host>[a-z0-9._-]{1,253}(?::\d{1,5})?)
        | (?<![.-]) [a-z0-9_-]{1,63} (?:\.[a-z0-9_-]{1,63}){0,9} \. (?:com|net|org|io|dev|app|cloud|internal|intern
            |local|lan|corp|prod|test|svc|[a-z]{2}) (?![\w-]) (?::\d{1,5})?
        | \d{4}-\d\d-\d\d (?: [T\ ]\d\d:\d\d (?: :\d\d (?:[.,]\d{1,9})?)? (?:Z|[+-]\d\d:?\d\d)? )?
        | (?i: utf-?(?:8(?:mb[34])?|16|32) | log4j2? | slf4j | py4j | json4s | netty4 | sha-?[1235]\d{0,2} | md5
            | x86_64 | x64 | amd64 | s3[an]? | abfss? | oauth2 | x509 | base64 | hive2 | h2 | k8s | ec2
            | i18n | l10n | e2e
            | (?:tls|ssl)v?\d(?:\.\d)? | aes\d* | rsa\d* | ed25519 | pbkdf2 | p12 | pkcs-?\d* | jdk\d* | http2 | ipv[46]
            | [a-z]\d[a-z]{0,2}\.\d*x?large ) (?![0-9A-Za-z])
        | AAAA[A-E][23][\w+/]{0,30} | MII[A-Z][\w+/]{4} | b3BlbnNzaC1rZXktdjE[\w+/]{0,80} )
    | (?:BgkqhkiG9w0|YJKoZIhvcNAQ|GCSqGSIb3DQEB|BgcqhkjOPQ|YHKoZIzj0|GByqGSM49) [\w+/]{0,28}
    """,
    re.VERBOSE,
)
"""What has odd neighbours but reveals nothing: hosts, times, algorithms, the beginning of every key."""

_head: Final = compiled_later(rb"eyJ[\w-]++(?P<more>(?=\.eyJ))?")
"""
The header of a JSON Web Token, which many tokens share, so that it reveals only a truncated token.

Also anything that only begins like a header, so that no byte is examined twice.
"""

_escape: Final = compiled_later(
    rb"%[0-9A-Fa-f]{2}|\\(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|[0-7]{3}|[^0-9A-Za-z]|[nrt])|&#?\w{1,6};"
)
"""What represents a character in an encoding."""

_oddity: Final = compiled_later(
    rb"""
    (?<=[A-Za-z])(?=[0-9]) | (?<=[0-9])(?=[A-Za-z])
    | (?<=[a-z])(?=[A-Z]) (?: (?<![A-Za-z][a-z][a-z]) | (?![A-Z][a-z][a-z]|[A-Z]{3}) )  # no words in camel case
    | (?<=[A-Z])(?=[A-Z][a-z]) (?: (?<![A-Z]{3}) | (?![A-Z][a-z][a-z]) )
    | (?<=[!#$%*+?@^`|~<>\\]) (?=[0-9A-Za-z]{1,2}(?![0-9A-Za-z])|[!#$%&*+=?@^`|~<>\\])
    | (?<=[^0-9A-Za-z][0-9A-Za-z]) (?=[!#$%*+?@^`|~<>\\]) | (?<=[^0-9A-Za-z][0-9A-Za-z]{2}) (?=[!#$%*+?@^`|~<>\\])
    """,
    re.VERBOSE,
)
"""Positions between odd neighbours: letters and digits, punctuation and single letters."""

_word: Final = compiled_later(rb"[A-Z]?[a-z]{5,}|[A-Z]{6,}|[A-Z][a-z](?![a-z])")
"""Words whose letters are examined: not those that can be abbreviations, such as ``jdbc``."""

_hexadecimal: Final = compiled_later(
    rb"(?<![0-9A-Za-z])(?:(?i:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
    rb"|(?=[0-9]*[a-f])[0-9a-f]{20,128}|(?=[0-9]*[A-F])[0-9A-F]{20,128})(?![0-9A-Za-z])"
)
"""A UUID or a key in hexadecimal, any part of which is random, even one with digits only."""

_PAIRS: Final = """
a:bcdfgiklmnprstuvwxyz b:aceijlmorstuy c:acehiklorstuy d:abcdefgilnoprstuvy e:abcdefghijklmnopqrstuvwxy f:aefilorstuy
g:aeghilmnorsu h:aeilmorstuy i:abcdefgklmnoprstvxz j:acdeosu k:adefilnpsuw l:abcdefilnopstuvy m:abeilmnopstuy
n:abcdefghijklmnoprstuvy o:abcdefgiklmnoprstuvwx p:adehiloprstuy q:lu r:abcdefgiklmnoprstuvwy s:acdefhiklmnopqstuwy
t:abcdefhilmnoprstuwy u:abcdefgilmnoprst v:aeio w:aehilnors x:aceipt y:aceilmnopst z:aeio
"""
_FOLLOWERS: Final = {
    ord(letter): frozenset(followers.encode()) for letter, followers in (pair.split(":") for pair in _PAIRS.split())
}
"""For each letter, the letters that often follow it in words and names."""


class Spots(NamedTuple):
    """
    The shortest distinctive parts of a form, in order; a longer part is distinctive if it contains one of them.

    :param runs: parts that are distinctive by themselves
    :param cuts: parts that are distinctive next to ``...``
    :param run: bytes of the form that encode ``RUN`` characters
    :param cut: bytes of the form that encode ``CUT`` characters
    """

    runs: Sequence[Range]
    cuts: Sequence[Range]
    run: int
    cut: int

    def __bool__(self) -> bool:
        return bool(self.runs or self.cuts)

    def stretches(self, end: int) -> Iterator[Range]:
        """Yield the ranges of the form in which a distinctive run can be, up to ``end``; they do not overlap."""
        first, last = 0, -1
        for begin, until in self.runs:
            if begin > last + self.run:
                if last > 0:
                    yield first, last
                first = max(0, min(begin, until - self.run))
            last = min(end, max(until, begin + self.run))
        if last > 0:
            yield first, last


def spots(form: bytes, source: bytes) -> Spots:
    """
    Return the distinctive parts of ``form``.

    :param source: the text itself if each byte of ``form`` encodes an equal share of it, as in base64; otherwise
        ``form`` again
    """
    odd = _odd(source[:LONGEST])
    cuts = _close(source, odd, _ODD_IN_CUT, CUT)
    for head in _heads(source[:LONGEST]):
        odd = [place for place in odd if not head.start() < place <= head.end()]
    runs = _close(source, odd, _ODD_IN_RUN, RUN)
    if form == source:
        return Spots(runs, cuts, RUN, CUT)
    scale = len(form) / len(source)
    return Spots(_scaled(runs, scale), _scaled(cuts, scale), *lengths(scale))


def _heads(source: bytes) -> list[re.Match[bytes]]:
    return [found for found in _head().finditer(source) if found["more"] is not None] if b"eyJ" in source else []


def is_random(text: bytes) -> bool:
    """Quickly return whether letters, digits and case change so often that all of ``text`` is probably distinctive."""
    kinds = text.translate(_KINDS)
    return _CHARACTERS_PER_CHANGE * sum(map(kinds.count, _CHANGES)) >= len(kinds)


def lengths(scale: float) -> tuple[int, int]:
    """Return the bytes of a run and of a cut, if a character has ``scale`` bytes."""
    return round(RUN * scale), round(CUT * scale)


def holds(found: Sequence[Range], first: int, last: int) -> bool:
    """Return whether one of ``found``, which are in order, is between ``first`` and ``last``."""
    place = bisect_left(found, (first, 0))
    return place < len(found) and found[place][1] <= last


def _scaled(found: Sequence[Range], scale: float) -> list[Range]:
    return [(ceil(first * scale), floor(last * scale)) for first, last in found]


def _close(text: bytes, odd: Sequence[int], count: int, length: int) -> list[Range]:
    """
    Return the shortest parts of ``text`` with ``count`` odd positions in ``length`` characters, or two of many.

    Any part of ``length`` characters of a hexadecimal number is one, too.
    """
    dense = [place for place in odd if bisect_left(odd, place + RUN) - bisect_left(odd, place - RUN) >= _ODD_AROUND]
    found: list[Range] = []
    for places, fewest in ((dense, 2), (odd, count)):
        found += zip(places, places[fewest - 1 :], strict=False)
    close = [(first - 1, -last - 1) for first, last in found if _is_close(text, first - 1, last + 1, length)]
    for key in _hexadecimal().finditer(text[:LONGEST]):
        close += [(first, -first - length) for first in range(key.start(), key.end() - length + 1)]
    close.sort()
    shortest: list[Range] = []
    for first, last in close[::-1]:
        if not shortest or -last < shortest[-1][1]:
            shortest.append((first, -last))
    return shortest[::-1]


def _is_close(text: bytes, first: int, last: int, length: int) -> bool:
    return last - first <= length or len(_escape().sub(b" ", text[first:last])) <= length


def _odd(text: bytes) -> list[int]:
    """Return the positions in ``text`` of bytes that rarely follow the byte before them."""
    unknown = _known().sub(_blank, _escape().sub(lambda escape: b" " * len(escape[0]), text))
    found = [place.start() for place in _oddity().finditer(unknown)]
    for word in _word().finditer(unknown):
        letters = word[0].lower()
        pairs = enumerate(pairwise(letters), word.start() + 1)
        found += [place for place, (letter, follower) in pairs if follower not in _FOLLOWERS[letter]]
    return sorted(found)


def _blank(known: re.Match[bytes]) -> bytes:
    """Return as many spaces; in a URL, only the host is blanked, not the user information."""
    if known["host"] is None:
        return b" " * len(known[0])
    first, last = known.start("host") - known.start(), known.end("host") - known.start()
    return known[0][:first] + b" " * (last - first) + known[0][last:]
