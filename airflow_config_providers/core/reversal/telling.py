"""
Which parts of a value give it away, and which are found in many texts.

A secret that a machine made has letters and digits side by side, and letters that no word has side by side. A host, a
class, a path or a sentence has few of these, so a log that has the same host is left alone.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import ceil, floor
from typing import Final

RUN: Final = 12
"""Characters of a value that are found without the rest of it."""

CUT: Final = 8
"""Characters at the beginning or the end of a value that are found where ``...`` stands for the rest of it."""

_ODD_IN_RUN: Final = 3
_ODD_IN_CUT: Final = 2
"""Odd neighbours that make so many characters telling."""

_ODD_AROUND: Final = 5
"""Odd neighbours in 24 characters, of which two are telling: a machine made all of them."""

LONGEST: Final = 4096
"""Octets of a value that are looked at; what is longer is a document, and has lines of its own."""


@cache
def _known() -> re.Pattern[bytes]:
    """Find what has odd neighbours and says nothing: hosts, moments, algorithms, what every key begins with."""
    return re.compile(
        rb"""
    (?<![0-9A-Za-z]) (?:
        [a-z][a-z0-9+.-]{1,30}:// (?:[^/?\#@\s]{1,200}@)?+ (?P<host>[a-z0-9._-]{1,253}(?::\d{1,5})?)
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


@cache
def _head() -> re.Pattern[bytes]:
    """
    Find the head of a JSON Web Token, which many have in common, so that it tells only where a token is cut off.

    What begins like one and is none is taken, too, as far as it goes, so that no octet is looked at twice.
    """
    return re.compile(rb"eyJ[\w-]++(?P<more>(?=\.eyJ))?")


@cache
def _escape() -> re.Pattern[bytes]:
    """Find what stands for a character in an encoding."""
    return re.compile(rb"%[0-9A-Fa-f]{2}|\\(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|[0-7]{3}|[^0-9A-Za-z]|[nrt])|&#?\w{1,6};")


@cache
def _oddity() -> re.Pattern[bytes]:
    """Find places between neighbours that are seldom side by side: letters and digits, marks and single letters."""
    return re.compile(
        rb"""
    (?<=[A-Za-z])(?=[0-9]) | (?<=[0-9])(?=[A-Za-z])
    | (?<=[a-z])(?=[A-Z]) (?: (?<![A-Za-z][a-z][a-z]) | (?![A-Z][a-z][a-z]|[A-Z]{3}) )  # no words in camel case
    | (?<=[A-Z])(?=[A-Z][a-z]) (?: (?<![A-Z]{3}) | (?![A-Z][a-z][a-z]) )
    | (?<=[!#$%*+?@^`|~<>\\]) (?=[0-9A-Za-z]{1,2}(?![0-9A-Za-z])|[!#$%&*+=?@^`|~<>\\])
    | (?<=[^0-9A-Za-z][0-9A-Za-z]) (?=[!#$%*+?@^`|~<>\\]) | (?<=[^0-9A-Za-z][0-9A-Za-z]{2}) (?=[!#$%*+?@^`|~<>\\])
    """,
        re.VERBOSE,
    )


@cache
def _word() -> re.Pattern[bytes]:
    """Find words whose letters are looked at: none that may be an abbreviation, such as ``jdbc``."""
    return re.compile(rb"[A-Z]?[a-z]{5,}|[A-Z]{6,}|[A-Z][a-z](?![a-z])")


@cache
def _random() -> re.Pattern[bytes]:
    return re.compile(rb"(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9])(?!.*(?:[a-z]{5}|[0-9]{5}|://))", re.DOTALL)


_FOLLOWERS: Final = {
    ord(letter): frozenset(followers.encode())
    for letter, followers in (
        pair.split(":")
        for pair in [
            "a:bcdfgiklmnprstuvwxyz",
            "b:aceijlmorstuy",
            "c:acehiklorstuy",
            "d:abcdefgilnoprstuvy",
            "e:abcdefghijklmnopqrstuvwxy",
            "f:aefilorstuy",
            "g:aeghilmnorsu",
            "h:aeilmorstuy",
            "i:abcdefgklmnoprstvxz",
            "j:acdeosu",
            "k:adefilnpsuw",
            "l:abcdefilnopstuvy",
            "m:abeilmnopstuy",
            "n:abcdefghijklmnoprstuvy",
            "o:abcdefgiklmnoprstuvwx",
            "p:adehiloprstuy",
            "q:lu",
            "r:abcdefgiklmnoprstuvwy",
            "s:acdefhiklmnopqstuwy",
            "t:abcdefhilmnoprstuwy",
            "u:abcdefgilmnoprst",
            "v:aeio",
            "w:aehilnors",
            "x:aceipt",
            "y:aceilmnopst",
            "z:aeio",
        ]
    )
}
"""For each letter the ones that often follow it in words and names."""

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Spots:
    """
    The shortest parts of a form that tell, in order; a longer part tells if one of them is in it.

    :param runs: of those that stand alone
    :param cuts: of those that ``...`` stands beside
    :param run: octets of the form that are ``RUN`` characters
    :param cut: octets of the form that are ``CUT`` characters
    """

    runs: Sequence[Range]
    cuts: Sequence[Range]
    run: int
    cut: int

    def __bool__(self) -> bool:
        return bool(self.runs or self.cuts)

    def stretches(self, end: int) -> Iterator[Range]:
        """Give the parts of the form in which a run that tells can stand, up to ``end``; they do not overlap."""
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
    Give what tells in ``form``.

    :param source: the text itself where each octet of ``form`` stands for the same part of it, as in base64; else
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
    """Whether ``text`` has neither words nor numbers, so that all of it is likely to tell; soon known."""
    return _random().match(text) is not None


def lengths(scale: float) -> tuple[int, int]:
    """Give the octets of a run and of a cut one, where a character has ``scale`` octets."""
    return round(RUN * scale), round(CUT * scale)


def holds(found: Sequence[Range], first: int, last: int) -> bool:
    """Whether one of ``found``, which are in order, is between ``first`` and ``last``."""
    place = bisect_left(found, (first, 0))
    return place < len(found) and found[place][1] <= last


def _scaled(found: Sequence[Range], scale: float) -> list[Range]:
    return [(ceil(first * scale), floor(last * scale)) for first, last in found]


def _close(text: bytes, odd: Sequence[int], count: int, length: int) -> list[Range]:
    """Give the shortest parts of ``text`` with ``count`` odd places in ``length`` characters, or two among many."""
    dense = [place for place in odd if bisect_left(odd, place + RUN) - bisect_left(odd, place - RUN) >= _ODD_AROUND]
    found: list[Range] = []
    for places, fewest in ((dense, 2), (odd, count)):
        found += zip(places, places[fewest - 1 :], strict=False)
    close = sorted((first - 1, -last - 1) for first, last in found if _is_close(text, first - 1, last + 1, length))
    shortest: list[Range] = []
    for first, last in close[::-1]:
        if not shortest or -last < shortest[-1][1]:
            shortest.append((first, -last))
    return shortest[::-1]


def _is_close(text: bytes, first: int, last: int, length: int) -> bool:
    return last - first <= length or len(_escape().sub(b" ", text[first:last])) <= length


def _odd(text: bytes) -> list[int]:
    """Give the places in ``text`` of octets that seldom follow the ones before them."""
    unknown = _known().sub(_blank, _escape().sub(lambda escape: b" " * len(escape[0]), text))
    found = [place.start() for place in _oddity().finditer(unknown)]
    for word in _word().finditer(unknown):
        letters = word[0].lower()
        pairs = enumerate(pairwise(letters), word.start() + 1)
        found += [place for place, (letter, follower) in pairs if follower not in _FOLLOWERS[letter]]
    return sorted(found)


def _blank(known: re.Match[bytes]) -> bytes:
    """Give as many blanks; of a URL only its scheme and its host are known, and not who signs in."""
    if known["host"] is None:
        return b" " * len(known[0])
    first, last = known.start("host") - known.start(), known.end("host") - known.start()
    return known[0][:first] + b" " * (last - first) + known[0][last:]
