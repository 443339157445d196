"""Strings: as bytes, as numbers, in messages, in fields of limited length; and small functions on lists and reports."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

LONGEST = 200
"""The most characters of a name or a line from outside that a message shows in one piece."""

_MOST_OCTETS = 4  # of one character in UTF-8

_Key = TypeVar("_Key")
_Item = TypeVar("_Item")


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


def counted(count: float, noun: str, plural: str = "") -> str:
    """
    Return a number with its noun, as in ``1 key`` and ``2,000 keys``.

    :param plural: the noun of other numbers than 1; by default with an s
    """
    shown = f"{count:,}" if isinstance(count, int) else f"{count:g}"
    return f"{shown} {noun if count == 1 else plural or f'{noun}s'}"


def how_many(count: int, noun: str) -> str:
    """Return a number with its noun, as ``counted`` does, but ``no keys`` for 0."""
    return counted(count, noun) if count else f"no {noun}s"


def there_are(count: int, noun: str) -> str:
    """Return the beginning of a sentence, as in ``There is 1 key`` and ``There are 2 keys``."""
    return f"There {'is' if count == 1 else 'are'} {counted(count, noun)}"


def first_of(names: Iterable[str], *, most: int = 3, noun: str = "") -> str:
    """
    Return the first ``most`` of the different ``names`` on one line, and how many more there are.

    :param noun: what they are, if the sentence does not say so
    """
    distinct = list(dict.fromkeys(names))
    shown, others = ", ".join(map(printable, distinct[:most])), len(distinct) - most
    more = counted(others, f"more {noun}") if noun else f"{others:,} more"
    return f"{shown} and {more}" if others > 0 else shown


def of_type(value: object) -> str:
    """Return what a message says of a value that must not be shown, such as ``of type int``."""
    return f"of type {type(value).__name__}"


def nearest(name: str, names: Iterable[str]) -> str:
    """Return a hint such as ``, did you mean 'vault'?`` if a known name is close, otherwise an empty string."""
    import difflib  # noqa: PLC0415 - slow to import, and only an error needs it

    close = difflib.get_close_matches(name[:LONGEST], sorted(names), n=1)
    return f", did you mean '{printable(close[0])}'?" if close else ""


def not_one_of(text: str, choices: Sequence[str]) -> str:
    """Return a sentence that says that ``text`` is not one of ``choices``, and which one it resembles."""
    return f"'{printable(text)}' is not one of {', '.join(choices)}{nearest(text, choices) or '.'}"


def grouped(pairs: Iterable[tuple[_Key, _Item]]) -> dict[_Key, list[_Item]]:
    """Return key -> its items; both in the order of ``pairs``."""
    found: dict[_Key, list[_Item]] = {}
    for key, item in pairs:
        found.setdefault(key, []).append(item)
    return found


def in_all(lists: Sequence[Sequence[_Item]]) -> list[_Item]:
    """Return the items that every list has, in the order of the first; none without lists."""
    first, *others = lists or [()]
    return [item for item in first if all(item in other for other in others)]


def several(one_or_more: Iterable[str] | str) -> list[str]:
    """Return the strings in a list; a string by itself is one, and not its letters."""
    return [one_or_more] if isinstance(one_or_more, str) else list(one_or_more)


def reporting_once(report: Callable[[str], object]) -> Callable[[str], None]:
    """Return a function that calls ``report`` only for strings that it has not been called with before."""
    reported: set[str] = set()

    def report_once(text: str) -> None:
        if text not in reported:
            reported.add(text)
            report(text)

    return report_once
