"""Strings from outside: as bytes, as numbers, and in a message or a field of a limited length."""

from __future__ import annotations

import re
from collections.abc import Sequence

LONGEST = 200
"""The most characters of a name or a line from outside that a message shows in one piece."""

_MOST_OCTETS = 4  # of one character in UTF-8


def octets(text: str) -> bytes:
    """Return ``text`` as UTF-8; lone surrogates are allowed."""
    return text.encode("utf-8", "surrogatepass")


def character(data: bytes, place: int) -> int:
    """Return the start of the character that contains the byte at ``place``; ``place`` itself if that is not UTF-8."""
    for start in range(place, max(-1, place - _MOST_OCTETS), -1):
        if not 0 <= start < len(data) or data[start] & 0xC0 != 0x80:
            return start
    return place


def half_pair(text: str) -> int | None:
    """Return the position of the first lone surrogate, which is not a character; None if there is none."""
    found = None if text.isascii() else re.search("[\ud800-\udfff]", text)
    return None if found is None else found.start()


def is_unicode(text: str) -> bool:
    """Return whether ``text`` can be written as UTF-8: it has no lone surrogates."""
    return half_pair(text) is None


def is_storable(text: str) -> bool:
    """Return whether every database can store ``text``, and search for it: PostgreSQL has no NUL in its strings."""
    return "\0" not in text and is_unicode(text)


def one_line(text: str) -> str:
    """Return ``text`` on one line: control characters and lone surrogates are escaped."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def printable(text: str) -> str:
    """Return ``text`` on one line, cut off after 200 characters."""
    if len(text) <= LONGEST:
        return one_line(text)
    return f"{one_line(text[:LONGEST])}... ({len(text)} characters)"


def shortened(lines: Sequence[str], *, characters: int, rest: str) -> list[str]:
    """
    Return as many of ``lines`` as fit; if some do not fit, the last line says how many more there are.

    Before lines are left out, long ones lose their middle: the end of a line says where its value was written.

    :param characters: longest allowed string form of the list
    :param rest: where to find the other lines
    """
    if len(str(lines)) <= characters:
        return list(lines)
    lines = [_without_middle(line) for line in lines]
    if len(str(lines)) <= characters:
        return lines
    kept: list[str] = []
    room = characters - len(repr(_more(len(lines), rest))) - 2
    for line in lines:
        room -= len(repr(line)) + 2
        if room < 0:
            break
        kept.append(line)
    return [*kept, _more(len(lines) - len(kept), rest)]


def _without_middle(line: str) -> str:
    middle = len(line) - 2 * LONGEST
    return line if middle <= LONGEST else f"{line[:LONGEST]} ... ({middle} characters) ... {line[-LONGEST:]}"


def _more(count: int, rest: str) -> str:
    return f"... and {count} more: {rest}"


def whole_number(text: object, *, least: int = 0, most: int = 10**18 - 1) -> int | None:
    """Return the number from ``least`` to ``most`` that ``text`` is in ASCII digits; None for anything else."""
    digits = str(text).strip()
    if not (digits.isascii() and digits.isdecimal()):
        return None
    digits = digits.lstrip("0") or "0"
    could_fit = len(digits) <= len(str(most))  # Python does not read a very long number
    return number if could_fit and least <= (number := int(digits)) <= most else None


def odd_character(name: str) -> int | None:
    """
    Return the position of the first character that makes ``name`` look like another name; None if there is none.

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
    import unicodedata  # noqa: PLC0415 - slow to import, and most names are ASCII

    return unicodedata.name(character, "").split(" ")[0] if character.isalpha() else ""
