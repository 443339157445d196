"""Keeps rows for as long as they are needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@contextmanager
def persisted(*frames: DataFrame) -> Iterator[tuple[DataFrame, ...]]:
    """
    Yield ``frames`` such that each is computed once, until the end of the block.

    Afterwards, Spark must forget them: it takes two reads of the same path for the same rows, whatever has changed.
    """
    try:
        yield tuple(frame.persist() for frame in frames)
    finally:
        for frame in frames:
            frame.unpersist()
