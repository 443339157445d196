"""Looks for garbage seldom, where millions of objects are made that stay."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_MORE_OBJECTS: Final = 200_000
"""How many objects are added between two collections; by default, Python goes through them every few hundred."""


@contextmanager
def seldom_collected() -> Iterator[None]:
    """
    Let this process look for garbage seldom until the end of the block; half of its time would go into that.

    Only objects that refer to each other in a circle wait for that. All others are freed as soon as they are not used.
    """
    first, *others = gc.get_threshold()
    if first:  # otherwise nothing is collected in this process
        gc.set_threshold(max(first, _MORE_OBJECTS), *others)
    try:
        yield
    finally:
        gc.set_threshold(first, *others)
