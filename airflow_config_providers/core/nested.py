"""What nested collections and objects hold, and how to change it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from operator import is_
from types import MemberDescriptorType
from typing import Any, Final, TypeGuard

Change = Callable[[object], object]

DEEPEST_NESTING: Final = 50
"""How many levels of collections are followed: more than people write, and far fewer than Python's stack allows."""

_LEAVES: Final = frozenset({str, bytes, int, float, bool, type(None)})
"""The most usual types of leaves, which are recognised at once."""

ITEMS: Final = (list, tuple, set, frozenset, deque)
"""Types of collections that are not mappings."""


def is_mapping(value: object) -> TypeGuard[Mapping[Any, Any]]:
    """
    Return whether ``value`` is a mapping.

    This looks for ``keys`` first: otherwise, Python asks every subclass of Mapping about each type that it sees for the
    first time in a process.
    """
    return (hasattr(type(value), "keys") or hasattr(value.__class__, "keys")) and isinstance(value, Mapping)


def map_leaves(value: object, change: Change, *, depth: int = DEEPEST_NESTING) -> object:
    """
    Return ``value`` with ``change`` applied to each key and each item that is not itself a collection.

    Nothing is changed in place. A collection without changes is returned itself, any other as a plain dict, list,
    tuple, set or deque.

    :raises RecursionError: collections are nested deeper than ``depth``, or contain themselves
    """
    items = items_of(value)
    if items is None:
        return change(value)
    if depth == 0:
        raise RecursionError("collections are nested too deep")
    return with_items(value, items, [map_leaves(item, change, depth=depth - 1) for item in items])


def items_of(value: object) -> list[Any] | None:
    """Return the items of a collection, of a mapping each key followed by its value; None if it is something else."""
    if type(value) in _LEAVES or not (isinstance(value, ITEMS) or is_mapping(value)):
        return None
    return list(value if isinstance(value, ITEMS) else chain.from_iterable(value.items()))


def with_items(value: object, items: list[Any], changed: list[object]) -> object:
    """Return ``value`` itself if no item of it changed; otherwise, a plain collection of the ``changed`` items."""
    return value if all(map(is_, items, changed)) else rebuilt(value, changed)


def rebuilt(value: object, items: list[object]) -> object:
    """Return a collection like ``value`` with other items; those of a mapping are each key followed by its value."""
    if not isinstance(value, ITEMS):
        return dict(zip(items[::2], items[1::2], strict=True))
    if isinstance(value, deque):
        return deque(items, value.maxlen)
    return next(kind for kind in ITEMS if isinstance(value, kind))(items)


def slots_of(kind: type) -> Iterator[tuple[str, MemberDescriptorType]]:
    """Yield the slots of classes that are written in Python, as ``getattr`` finds them, and how to read them."""
    for name, found in (item for each in kind.__mro__ if "__slots__" in vars(each) for item in vars(each).items()):
        if isinstance(found, MemberDescriptorType):
            yield name, found
