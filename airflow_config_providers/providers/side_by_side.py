"""Several requests to one store at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from airflow_config_providers.core.workers import Workers

_T = TypeVar("_T")
_R = TypeVar("_R")


def side_by_side(call: Callable[[_T], _R], items: Sequence[_T], *, at_once: int) -> list[_R]:
    """
    Return the result of ``call`` for each item, in the order of the items.

    The first call is made alone: a store may sign in with it, and locks out a user who is refused many times at once.
    After a call fails, no other begins, and its error is raised; if several fail, that of the first of these items.
    Calls in other threads see the caller's context variables.

    :param at_once: the most calls that are made at the same time
    """
    first, rest = [call(item) for item in items[:1]], items[1:]
    if len(rest) < 2 or at_once < 2:
        return first + [call(item) for item in rest]
    failed: list[BaseException] = []
    with Workers(min(at_once, len(rest))) as workers:
        asked = [workers.start(_unless_failed, failed, call, item) for item in rest]
        return first + [future.result() for future in asked]


def _unless_failed(failed: list[BaseException], call: Callable[[_T], _R], item: _T) -> _R:
    if failed:
        raise failed[0]
    try:
        return call(item)
    except BaseException as error:
        failed.append(error)
        raise
