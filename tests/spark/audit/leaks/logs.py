"""Logs in which values are planted."""

from __future__ import annotations

from collections.abc import Iterable

QUIET = b"2026-11-25T08:00:00 INFO a line of a log that shows nothing\n"


def log_with(places: Iterable[tuple[int, str]]) -> bytes:
    """Return quiet lines with values at these places; a value moves those behind it."""
    content = QUIET * 350
    for place, value in sorted(places, reverse=True):
        content = content[:place] + b" " + value.encode() + b" " + content[place:]
    return content
