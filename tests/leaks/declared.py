"""The leaks of ours that are known; the page "What cannot be hidden" says why each is one, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from tests.leaks.canaries import (
    ARGUMENT,
    CONF,
    DYNAMIC,
    ENVIRONMENT,
    EXECUTOR,
    FILE,
    JDBC_CONF,
    JDBC_PASSWORD,
    PYSPARK_CONF,
    QUERY,
    SLOTS_OF_OURS,
    SQL_CONF,
    Slot,
)
from tests.leaks.matrix import Leak, Matrix
from tests.leaks.sinks import Sink

_IN_CONF = frozenset({*CONF, FILE, SQL_CONF, PYSPARK_CONF, JDBC_CONF, JDBC_PASSWORD, DYNAMIC})

DECLARED: Final[Mapping[Sink, frozenset[Slot]]] = {
    Sink.MEMORY: frozenset({*SLOTS_OF_OURS} - {JDBC_PASSWORD}),
    Sink.ARGUMENTS: frozenset({ARGUMENT}),
    Sink.CRASH: frozenset({ARGUMENT}),
    Sink.ENVIRONMENTS: frozenset({ENVIRONMENT}),
    Sink.OPEN_FILES: _IN_CONF,
    Sink.SPARK_UI: frozenset({QUERY}),
    Sink.EVENT_LOG: frozenset({QUERY}),
    Sink.HISTORY: frozenset({QUERY}),
    Sink.CLUSTER_PAGES: frozenset({EXECUTOR}),
    Sink.CLUSTER_FILES: frozenset({EXECUTOR}),
}
"""Sink -> the slots whose secrets may be seen in it."""


def undeclared(matrix: Matrix) -> list[Leak]:
    """Return our leaks that are not declared."""
    return [leak for leak in _ours(matrix) if leak.slot not in DECLARED.get(leak.sink, ())]


def not_found(matrix: Matrix) -> list[str]:
    """Return the declared cells in which nothing was found, for which the page would claim too much."""
    found = {(leak.sink, leak.slot) for leak in _ours(matrix)}
    return [f"{sink}: {slot.name}" for sink, slots in DECLARED.items() for slot in slots if (sink, slot) not in found]


def not_searched(matrix: Matrix) -> list[Sink]:
    """Return the sinks that were empty, whose cells prove nothing."""
    return [sink for sink in Sink if not matrix.searched[sink]]


def _ours(matrix: Matrix) -> Iterator[Leak]:
    return (leak for leak in matrix.found if leak.column.is_ours)
