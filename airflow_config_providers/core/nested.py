"""Change the contents of nested mappings and sequences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

Change = Callable[[object], object]

_DEEPEST: Final = 50


def map_leaves(value: object, change: Change, *, depth: int = _DEEPEST) -> object:
    """
    Return ``value`` with ``change`` applied to each key and each item that is not itself a collection.

    Nothing is changed in place. A collection without changes is returned itself, any other as a plain dict, list,
    tuple or set.

    :raises RecursionError: collections are nested deeper than ``depth``, or contain themselves
    """
    if not isinstance(value, Mapping | list | tuple | set | frozenset):
        return change(value)
    if depth == 0:
        raise RecursionError("collections are nested too deep")
    items = [(item, map_leaves(item, change, depth=depth - 1)) for item in _items(value)]
    if all(old is new for old, new in items):
        return value
    return _rebuilt(value, [new for _, new in items])


def _items(value: object) -> list[object]:
    """Return the items of a collection; for a mapping, each key followed by its value."""
    if isinstance(value, Mapping):
        return [part for entry in value.items() for part in entry]
    return list(value)  # type: ignore[call-overload, no-any-return]  # the caller has checked that it is a collection


def _rebuilt(value: object, items: list[object]) -> object:
    if isinstance(value, Mapping):
        return dict(zip(items[::2], items[1::2], strict=True))
    return next(kind for kind in (list, tuple, set, frozenset) if isinstance(value, kind))(items)
