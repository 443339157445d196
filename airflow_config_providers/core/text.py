"""Texts that came from outside: as octets, in a message, and next to names that they resemble."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable

_LONGEST = 200
_MOST_OCTETS = 4  # of a character in UTF-8


def octets(text: str) -> bytes:
    """Give ``text`` as UTF-8; lone surrogates pass."""
    return text.encode("utf-8", "surrogatepass")


def character(data: bytes, place: int) -> int:
    """Return where the character begins that the octet at ``place`` is part of; ``place`` in what is no UTF-8."""
    for start in range(place, max(-1, place - _MOST_OCTETS), -1):
        if not 0 <= start < len(data) or data[start] & 0xC0 != 0x80:
            return start
    return place


def half_pair(text: str) -> int | None:
    """Find the first half of a surrogate pair that stands alone, which is no character; None where there is none."""
    found = None if text.isascii() else re.search("[\ud800-\udfff]", text)
    return None if found is None else found.start()


def is_unicode(text: str) -> bool:
    """Tell whether ``text`` can be written as UTF-8: it holds no half of a surrogate pair."""
    return half_pair(text) is None


def one_line(text: str) -> str:
    """Give ``text`` on one line: control characters and lone surrogates are escaped."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def printable(text: str) -> str:
    """Give ``text`` on one line, cut after 200 characters."""
    shown = one_line(text[:_LONGEST])
    return f"{shown}... ({len(text)} characters)" if len(text) > _LONGEST else shown


def nearest(name: str, names: Iterable[str]) -> str:
    """Give a hint such as ``, did you mean 'vault'?`` where a known name is close, else an empty text."""
    close = difflib.get_close_matches(name[:_LONGEST], sorted(names), n=1)
    return f", did you mean '{printable(close[0])}'?" if close else ""


def odd_character(name: str) -> int | None:
    """
    Find the first character that makes ``name`` look like another name; None where there is none.

    That is a control character, a lone surrogate, or a letter of another script than the letters before it.
    """
    first = ""
    for place, character in enumerate(name):
        if not character.isprintable():
            return place
        script = _script(character)
        first = first or script
        if script and script != first:
            return place
    return None


def _script(character: str) -> str:
    return unicodedata.name(character, "").split(" ")[0] if character.isalpha() else ""
