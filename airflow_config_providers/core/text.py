"""How names and paths that came from outside are put into a message."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_LONGEST = 200


def printable(text: str) -> str:
    """Give ``text`` on one line, control characters and lone surrogates escaped, cut after 200 characters."""
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text[:_LONGEST])
    return f"{shown}... ({len(text)} characters)" if len(text) > _LONGEST else shown


def nearest(name: str, names: Iterable[str]) -> str:
    """Give a hint such as ``, did you mean 'vault'?`` where a known name is close, else an empty text."""
    close = difflib.get_close_matches(name[:_LONGEST], sorted(names), n=1)
    return f", did you mean {printable(close[0])!r}?" if close else ""
