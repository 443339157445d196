"""What the tasks of a DAG have, in place of a value of the DAG that is weaker than what their authors wrote."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from airflow_config_providers.core.layers import ConfigEntry, ConfigSource
from airflow_config_providers.deployment.rows import Row, shown

DIFFERING: Final = "each task decides"
"""The origin in place of a value in which tasks differ, or which only a run knows."""

_UNSET: Final = "not set anywhere"

_WEAKER: Final = frozenset({None, ConfigSource.STATIC_FILE_CONFIG.name, ConfigSource.DEFAULT_CONFIG.name})
"""The sources of values that are beaten by what the author of a task wrote; None is that of a key that is not set."""

Entries = Mapping[str, ConfigEntry]


class _Had(NamedTuple):
    """What a task has for a key; without a source, nothing sets it there."""

    value: str | None
    source: str | None
    origin: str

    def is_same(self, other: _Had) -> bool:
        """Return whether the other has the same value from the same kind of layer; secrets are not compared."""
        is_secret = self.value is None and self.source is not None
        return self[:2] == other[:2] and not is_secret


def with_task_values(rows: Sequence[Row], tasks: Callable[[], Sequence[Entries | None]]) -> list[Row]:
    """
    Return the rows of a changed DAG with what all of its tasks have, if a task can override what the DAG has.

    :param rows: with ``key``, ``value``, ``source`` and ``origin``
    :param tasks: returns the entries of each task, None of a task of which only a run knows them; called if needed
    """
    found = tasks() if any(row["source"] in _WEAKER for row in rows) else ()
    return [_of_tasks(row, found) if found and row["source"] in _WEAKER else row for row in rows]


def _of_tasks(row: Row, tasks: Sequence[Entries | None]) -> Row:
    had = [_had(entries, row["key"]) for entries in tasks if entries is not None]
    if len(had) < len(tasks) or not all(had[0].is_same(other) for other in had[1:]):
        return {**row, "value": None, "source": None, "origin": DIFFERING}
    value, source, _ = had[0]
    origins = dict.fromkeys(one.origin for one in had)
    origin = had[0].origin if len(origins) == 1 else "written in several places"
    return {**row, "value": shown(value) if source else None, "source": source, "origin": _in_each(origin, source)}


def _in_each(origin: str, source: str | None) -> str:
    return f"{origin}, in each task" if source else origin


def _had(entries: Entries, key: str) -> _Had:
    """Return what a task has, without the dynamic configuration of its DAG: the change can have been a dry run."""
    synonyms = entries[key].synonyms if key in entries else ()
    for one in synonyms:
        if one.source is not ConfigSource.DYNAMIC_DAG_CONFIG:
            return _Had(one.value, one.source.name, one.origin)
    return _Had(None, None, _UNSET)
