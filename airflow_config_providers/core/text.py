"""Texts that came from outside: as octets, in a message, and next to names that they resemble."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable

_LONGEST = 200


def octets(text: str) -> bytes:
    """Give ``text`` as UTF-8; lone surrogates pass."""
    return text.encode("utf-8", "surrogatepass")


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
