"""Which tasks use a reference, and which of them had an older value of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any, Final

from airflow_config_providers.deployment.records import kept, reading, recent_tries
from airflow_config_providers.deployment.rows import Row
from airflow_config_providers.job.record import TryRecord

_Stored = tuple[datetime, TryRecord]
"""When Airflow stored a record, and the record."""


_NO_HASHES: Final = (
    "{} of {} jobs left no hash of the value, so is_newest is empty there. Set [config_providers] "
    "password_encoder_secret where tasks run: their next jobs leave hashes, unless the driver resolves the references."
)


def usages(pattern: str, may_see: Callable[[Collection[str]], Collection[str]] = tuple) -> list[Row]:
    """
    Return a row for each task and each reference of its last job that matches ``pattern``.

    :param pattern: a reference, in which ``*`` matches any text
    :param may_see: returns those of the given DAG ids that are shown; which value is the newest, the others say too
    :raises ProviderUnavailableError: the database is unavailable
    """
    stored = reading(lambda session: list(_last_of_each(session)))
    newest = _newest(stored)
    found = [_row(record, reference, newest) for _, record in stored for reference in record.references]
    matching = (row for row in found if fnmatchcase(row["reference"], pattern))
    rows = sorted(matching, key=lambda row: (row["reference"], row["dag"], row["task"], row["map_index"]))
    visible = set(may_see({row["dag"] for row in rows}))
    return [row for row in rows if row["dag"] in visible]


def about(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a sentence about what ``usages`` could not find out."""
    if without := sum(not row["hash"] for row in rows):
        yield _NO_HASHES.format(without, len(rows))


def _last_of_each(session: Any) -> Iterator[_Stored]:
    """Yield the record of the last job of each task instance; a try that was refused, or followed a job, had none."""
    seen: set[tuple[str, str, int]] = set()
    for one in recent_tries(session):
        instance = (one.task.dag_id, one.task.task_id, one.task.map_index)
        record = None if instance in seen else kept(session, one.task)
        if record is not None and not record.problems and record.follows is None:
            seen.add(instance)
            yield one.at, record


def _newest(stored: Iterable[_Stored]) -> dict[str, tuple[str, str]]:
    """Return reference -> name of the key and hash of the value that the last of all jobs had."""
    oldest_first = sorted(stored, key=lambda one: one[0])
    return {
        reference: (record.key_id, digest)
        for _, record in oldest_first
        for reference, digest in record.references.items()
        if digest
    }


def _row(record: TryRecord, reference: str, newest: dict[str, tuple[str, str]]) -> Row:
    one, digest = record.task, record.references[reference]
    key_id, last = newest.get(reference, ("", ""))
    is_comparable = digest and key_id == record.key_id
    return {
        "reference": reference,
        "dag": one.dag_id,
        "task": one.task_id,
        "map_index": one.map_index,
        "run": one.run_id,
        "try": one.try_number,
        "at": record.at,
        "hash": digest,
        "is_newest": digest == last if is_comparable else None,
    }
