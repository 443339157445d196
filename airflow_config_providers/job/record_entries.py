"""
The records in tables of Airflow's database, put together from their entries for the audit on Spark.

Runs in executors, and so needs no Airflow. Tasks write entries: whatever is wrong with one is said later, in its row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, NamedTuple

from airflow_config_providers.exceptions import ConfigException, LimitExceededError
from airflow_config_providers.job.record import TaskTry, TryRecord, written
from airflow_config_providers.job.record_store import entry_of, first_record, place_of


class StoredEntry(NamedTuple):
    """
    An entry of the record of a try.

    :param place: the number of its table; the first table with a record counts
    :param at: when Airflow stored it, as a database writes it
    :param value: the entry in JSON; None if it is too large, or only when it was stored matters
    """

    dag: str
    task: str
    run: str
    map_index: int
    try_number: int
    place: int
    key: str
    at: str
    value: str | None = None


def name_of(task: TaskTry) -> str:
    """Return the name of the record of a try in the database."""
    return f"database:{place_of(task)}"


def content_of(stores: Iterable[Mapping[str, Any]], task: TaskTry) -> bytes:
    """Return the record of a try; nothing if it cannot be read, or a backend of the workers has it."""
    try:
        record = first_record(stores, task)
    except ConfigException:
        return b""
    return b"" if record is None else bytes_of(record)


def bytes_of(record: TryRecord) -> bytes:
    """Return a record as one line; nothing if it is too large so, since a task can have written it shorter."""
    try:
        return written(record)
    except LimitExceededError:
        return b""


def in_utc(at: datetime) -> datetime:
    """Return a moment in UTC; without a time zone, it is there already."""
    return at.replace(tzinfo=at.tzinfo or UTC).astimezone(UTC)


def microseconds(at: datetime) -> int:
    """Return a moment in microseconds since 1970."""
    return round(at.timestamp() * 1_000_000)


def times_of(since: str, entries: Iterable[StoredEntry]) -> Iterator[tuple[str, int]]:
    """
    Yield the name of each record and when it was stored, in microseconds since 1970.

    :param since: the first day; empty for all
    :param entries: first entries, in the order of their tries
    """
    for task, of in _by_try(entries):
        moments = (in_utc(datetime.fromisoformat(one.at)) for one in of)
        selected = [at for at in moments if at.date().isoformat() >= since]
        if selected:
            yield name_of(task), microseconds(selected[0])


def contents_of(entries: Iterable[StoredEntry]) -> Iterator[tuple[str, bytes]]:
    """
    Yield the name of each record, and the record.

    :param entries: all entries of the records, in the order of their tries
    """
    for task, of in _by_try(entries):
        stores = groupby(of, lambda one: one.place)
        yield name_of(task), content_of(({one.key: entry_of(one.value) for one in some} for _, some in stores), task)


def _by_try(entries: Iterable[StoredEntry]) -> Iterator[tuple[TaskTry, Iterator[StoredEntry]]]:
    """Yield the entries of each try, those of its first table first."""
    for names, of in groupby(map(_entry, entries), lambda one: one[:5]):
        yield TaskTry(*names), of


def _entry(row: Iterable[Any]) -> StoredEntry:
    return StoredEntry(*row)
