"""Lists: of what belongs to one key, of what several lists have, and of one string or more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

_Key = TypeVar("_Key")
_Item = TypeVar("_Item")


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
