"""What differs between two configurations, who changed it, and between which runs a task began to fail."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import dropwhile, takewhile
from typing import Any, Final, Self

from airflow_config_providers.core.layers import ConfigSource
from airflow_config_providers.core.resource import ConfigResource, ResourceType
from airflow_config_providers.core.text import printable
from airflow_config_providers.deployment.records import reading, require_map_index
from airflow_config_providers.deployment.rows import BELOW_FILES, Hidden, Row
from airflow_config_providers.dynamic.inheritance import SOURCES, inherited
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.job.records.record import unversioned
from airflow_config_providers.lazy import sa

_MISSING: Final[Mapping[str, Any]] = {"value": None, "source": None, "origin": None}


def differences(before: Sequence[Row], after: Sequence[Row], *, unread: tuple[str, str] = ("", "")) -> list[Row]:
    """
    Return a row for each key whose value, or the value of whose references, differs.

    ``change`` is ``added``, ``removed``, ``changed`` or, for the same references with other values, ``other secret``.
    Plaintext secrets cannot be compared, and are treated as equal; so are paths that differ only in the folder of the
    version of a DAG bundle. If a file that is not read can have the key, too, ``change`` says why it is not read.

    :param unread: for each side, why files of it are not read; empty if all are
    """
    old, new = ({row["key"]: row for row in rows} for rows in (before, after))
    rows = (_row(key, old.get(key), new.get(key), unread) for key in sorted(old.keys() | new.keys()))
    return [row for row in rows if row["change"]]


def _row(key: str, before: Row | None, after: Row | None, unread: tuple[str, str]) -> Row:
    old, new = before or _MISSING, after or _MISSING
    return {
        "key": key,
        "change": _known_change(before, after, unread),
        "before": old["value"],
        "after": new["value"],
        "before_layer": _layer(old),
        "after_layer": _layer(new),
    }


def _known_change(before: Row | None, after: Row | None, unread: tuple[str, str]) -> str:
    change = _change(before, after)
    pairs = zip(((before, after), (after, before)), unread, strict=True)
    why = [why for (one, other), why in pairs if why and (one or other or _MISSING)["source"] in BELOW_FILES]
    return why[0] if change and why else change


def _change(before: Row | None, after: Row | None) -> str:
    if before is None or after is None:
        return "added" if before is None else "removed"
    if _text(before) != _text(after):
        return "changed"
    return "other secret" if _has_other_hash(before, after) else ""


def _has_other_hash(before: Row, after: Row) -> bool:
    old, new = _hashes(before), _hashes(after)
    return any(_is_other(old[reference], new[reference]) for reference in old.keys() & new.keys())


def _is_other(before: str | None, after: str | None) -> bool:
    """Return whether two hashes differ; those that were made with different keys cannot be compared."""
    if not before or not after or before.partition(":")[0] != after.partition(":")[0]:
        return False
    return before != after


def _text(row: Row) -> str | None:
    return None if isinstance(row["value"], Hidden) else _unversioned(row, str(row["value"]))


def _hashes(row: Row) -> Mapping[str, str | None]:
    return {_unversioned(row, reference): hash_ for reference, hash_ in (row.get("hashes") or {}).items()}


def _unversioned(row: Row, text: str) -> str:
    return unversioned(text, row.get("bundle_folder") or "")


def _layer(row: Row) -> str | None:
    return None if row["source"] is None else f"{row['source']}, {row['origin']}"


_VERSION: Final = re.compile(r", version ([0-9]{1,9})$")

_UNKNOWN: Final[Row] = {"changed_by": None, "changed_at": None}

History = Callable[[ConfigResource], Sequence[Row]]
"""Returns the changes of a resource, newest last."""


@dataclass(frozen=True, slots=True)
class _ValueLayer:
    """
    The layer of a value.

    :param version: the version of the document that it comes from; None if it is not dynamic
    """

    source: ConfigSource | None
    version: int | None

    @classmethod
    def of(cls, layer: str | None) -> Self:
        """Return the layer that a difference shows; a record of a later version can have an unknown source."""
        source, _, origin = (layer or "").partition(", ")
        version = _VERSION.search(origin)
        found = ConfigSource.__members__.get(source)
        return cls(found, int(version[1]) if version and found in _TYPES else None)


_TYPES: Final[Mapping[ConfigSource | None, ResourceType]] = {source: kind for kind, source in SOURCES.items()}


def with_authors(differences: Iterable[Row], task: ConfigResource, history: History) -> list[Row]:
    """
    Return ``differences`` with the user and the time of the change that caused each.

    Both are None if the cause is not a recorded change of dynamic configuration, but a new version of the DAG, say, or
    if a stored document was lost.

    :param history: called once for each resource that has a part in a difference
    """
    known: dict[ResourceType, Sequence[Row]] = {}

    def changes(source: ConfigSource | None) -> Sequence[Row]:
        kind = _TYPES[source]
        if kind not in known:
            known[kind] = history(next(one for one in inherited(task) if one.type is kind))
        return known[kind]

    return [{**row, **_author(row, changes)} for row in differences]


def _author(row: Row, changes: Callable[[ConfigSource | None], Sequence[Row]]) -> Row:
    before, after = _ValueLayer.of(row["before_layer"]), _ValueLayer.of(row["after_layer"])
    if after.version is not None and _rank(after) >= _rank(before):
        least = before.version or 0 if before.source is after.source else 0
        found = [one for one in _of_key(row["key"], changes(after.source)) if least < one["version"] <= after.version]
        return _first_author(found[-1:])
    if before.version is not None:  # its value was removed, because a weaker layer wins now
        later = (one for one in _of_key(row["key"], changes(before.source)) if one["version"] > before.version)
        return _first_author([one for one in later if one["is"] is None])
    return _UNKNOWN


def _rank(place: _ValueLayer) -> int:
    return 0 if place.source is None else place.source.value


def _of_key(key: str, changes: Iterable[Row]) -> list[Row]:
    return [one for one in changes if one["key"] == key]


def _first_author(found: Sequence[Row]) -> Row:
    return {"changed_by": found[0]["by"] or None, "changed_at": found[0]["at"] or None} if found else _UNKNOWN


_SUCCESS: Final = "success"
_ENDED: Final = (_SUCCESS, "failed")

_MOST: Final = 1000
"""How many of the last instances are looked at."""


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """
    How a task ended in a run.

    :param at: when its last try began, in ISO 8601
    """

    run_id: str
    is_success: bool
    at: str
    map_index: int = -1

    def __str__(self) -> str:
        return f"run '{printable(self.run_id)}', begun at {self.at}"


@dataclass(frozen=True, slots=True)
class TurningPoint:
    """
    Two runs of a task, between which it began to fail.

    :param success: the last run that succeeded before
    :param failure: the first one that failed after it
    :param since: the last run, if the task has succeeded since
    """

    success: RunOutcome
    failure: RunOutcome
    since: RunOutcome | None = None


def turning_point(task: ConfigResource, outcomes: Sequence[RunOutcome]) -> TurningPoint:
    """
    Return where ``task`` began to fail the last time.

    :param outcomes: how it ended, the last run first
    :raises ConfigException: it has not failed, or has not succeeded before
    """
    failed = list(dropwhile(lambda one: one.is_success, outcomes))
    if not failed:
        ended = "run" if len(outcomes) == 1 else f"{len(outcomes)} runs"
        raise ConfigException(
            f"{_capital(task)} has not failed in the last {ended}. Compare runs with describe --diff."
        )
    failures = list(takewhile(lambda one: not one.is_success, failed))
    if len(failures) == len(failed):
        raise ConfigException(
            f"{_capital(task)} has not succeeded before {failures[-1]}, as far as Airflow still has its runs. There is "
            f"nothing to compare with."
        )
    since = outcomes[0] if outcomes[0].is_success else None
    return TurningPoint(failed[len(failures)], failures[-1], since)


def outcomes_of(task: ConfigResource, map_index: int | None = None) -> list[RunOutcome]:
    """
    Return how ``task`` ended in its runs, ordered by when it ran, the last one first.

    :param map_index: the instance of a mapped task
    :raises UnknownResourceError: Airflow's database cannot have such an instance
    :raises ConfigException: the task is mapped, and ``map_index`` is None
    :raises ProviderUnavailableError: the database is unavailable
    """
    require_map_index(map_index)
    found = reading(lambda session: _read(session, task, map_index))
    if len({one.map_index for one in found}) > 1:
        raise ConfigException(f"{_capital(task)} is mapped: its instances end differently. Add --map-index.")
    return found


def _read(session: Any, task: ConfigResource, map_index: int | None) -> list[RunOutcome]:
    from airflow.models.taskinstance import TaskInstance  # noqa: PLC0415 - heavy

    query = sa.select(TaskInstance.run_id, TaskInstance.state, TaskInstance.start_date, TaskInstance.map_index).where(
        TaskInstance.dag_id == task.dag_id,
        TaskInstance.task_id == task.task_id,
        TaskInstance.state.in_(_ENDED),
        TaskInstance.start_date.is_not(None),  # an instance whose state a person set has not run
    )
    if map_index is not None:
        query = query.where(TaskInstance.map_index == map_index)
    newest = query.order_by(TaskInstance.start_date.desc()).limit(_MOST)
    rows = session.execute(newest).all()
    return [RunOutcome(run_id, state == _SUCCESS, start.isoformat(), index) for run_id, state, start, index in rows]


def _capital(task: ConfigResource) -> str:
    name = str(task)
    return f"{name[:1].upper()}{name[1:]}"
