"""Divides many items into groups, in order, without having all of them in memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

_Item = TypeVar("_Item")


def batches(items: Iterable[_Item], size_of: Callable[[_Item], int], *, least: int) -> Iterator[list[_Item]]:
    """Yield items together as soon as they have the size ``least``; the last ones can have less."""
    some: list[_Item] = []
    size = 0
    for one in items:
        some.append(one)
        size += size_of(one)
        if size >= least:
            yield some
            some, size = [], 0
    if some:
        yield some


def packed(
    items: Iterable[_Item], size_of: Callable[[_Item], int], *, most: int, count: float = math.inf
) -> Iterator[list[_Item]]:
    """Yield at most ``count`` items together, of which all have at most the size ``most``; a larger item is alone."""
    some: list[_Item] = []
    size = 0
    for one in items:
        added = size_of(one)
        if some and (size + added > most or len(some) >= count):
            yield some
            some, size = [], 0
        some.append(one)
        size += added
    if some:
        yield some
