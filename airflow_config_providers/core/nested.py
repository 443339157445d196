"""Change the contents of nested mappings and sequences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain
from operator import is_
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
    items = list(chain.from_iterable(value.items()) if isinstance(value, Mapping) else value)
    changed = [map_leaves(item, change, depth=depth - 1) for item in items]
    return value if all(map(is_, items, changed)) else _rebuilt(value, changed)


def _rebuilt(value: object, items: list[object]) -> object:
    """Return a collection like ``value`` with other items; those of a mapping are each key followed by its value."""
    if isinstance(value, Mapping):
        return dict(zip(items[::2], items[1::2], strict=True))
    return next(kind for kind in (list, tuple, set, frozenset) if isinstance(value, kind))(items)
