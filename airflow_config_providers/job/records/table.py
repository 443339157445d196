"""
Records as rows of a table, for the audit on Spark: from files, or put together from their entries in a database.

Runs in executors, and so needs no Airflow. Others can write records: the row of a broken one says what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import groupby
from typing import Any, Final, NamedTuple

from airflow_config_providers.core.layers import LayeredConfig
from airflow_config_providers.core.text import is_unicode
from airflow_config_providers.exceptions import ConfigException, LimitExceededError
from airflow_config_providers.job.records.entries import entry_of, first_record
from airflow_config_providers.job.records.files import place_of
from airflow_config_providers.job.records.record import FORMAT, RecordedValue, TaskTry, TryRecord, parsed, written
from airflow_config_providers.spark.audit.records.record_tables import Content, RecordRow, ValueRow
from airflow_config_providers.spark.catalogue import spark_definition

_LAST_NUMBER: Final = 2**31 - 1
"""The largest number of a try, or index of a mapped task: that of an INTEGER in a database."""

_DAY: Final = re.compile(r"/day=([0-9]{4}-[0-9]{2}-[0-9]{2})/")

_TOO_LARGE: Final = "It is too large to be a record."
_NO_RECORD: Final = "Line {} is no record."
_NO_TRY: Final = "Line {} does not say of which try it is."
_NO_TIME: Final = "Line {} does not say when the try began."
_OTHER_TRY: Final = "Line {} is the record of another try than the name of the file says."


def rows_of(contents: Iterable[Content]) -> Iterator[RecordRow]:
    """Yield a row for each record in files, one a line, and one for the first problem of each file."""
    for file in contents:
        if file.content is None:
            yield _problem(file, _TOO_LARGE)
        else:
            yield from _rows(file, file.content)


def _rows(file: Content, content: bytes) -> Iterator[RecordRow]:
    is_noted = False
    for number, line in enumerate(content.rstrip().split(b"\n"), 1):
        row = _row(file, number, line)
        if not (row.problem and is_noted):  # a file of millions of broken lines is one problem
            yield row
        is_noted = is_noted or bool(row.problem)


def _row(file: Content, number: int, line: bytes) -> RecordRow:
    document = parsed(line)
    task = _try(document)
    record = TryRecord.read(document, task or TaskTry("", "", ""))
    if record is None:
        return _problem(file, _NO_RECORD.format(number))
    if task is None:
        return _problem(file, _NO_TRY.format(number))
    if (at := _moment(record.at)) is None:
        return _problem(file, _NO_TIME.format(number))
    if "/dag=" in file.file and not file.file.endswith(f"/{place_of(task)}"):
        return _problem(file, _OTHER_TRY.format(number))
    return _recorded(file, record, at)


def _recorded(file: Content, record: TryRecord, at: str) -> RecordRow:
    task = record.task
    return RecordRow(
        **_of_file(file),
        problem="",
        day=_day(file) or at[:10],
        dag=_sound(task.dag_id),
        task=_sound(task.task_id),
        run=_sound(task.run_id),
        map_index=task.map_index,
        try_number=task.try_number,
        at=at,
        is_later=record.format > FORMAT,
        follows=record.follows if record.follows is not None and 0 < record.follows <= _LAST_NUMBER else None,
        refusals=[_sound(text) for text in record.problems],
        versions={_sound(name): _sound(version) for name, version in record.versions.items()},
        key_id=_sound(record.key_id),
        references={_sound(name): digest and _sound(digest) for name, digest in record.references.items()},
        configs=[row for key, of in record.configs.items() for row in _values(key, of)],
        bundle_folder=_sound(record.bundle_folder),
    )


def _values(key: str, of: Sequence[RecordedValue]) -> Iterator[ValueRow]:
    """Yield the values of a key. A secret that an older version did not know as one, or a task wrote, is hidden."""
    is_secret = _secrets()
    for rank, one in enumerate(of):
        name, value = one.name or key, one.value
        hidden = value is None or is_secret(name, value)
        winner = "" if rank == 0 else _sound(of[0].source)
        shown = None if value is None or hidden else _sound(value)
        yield ValueRow(_sound(key), rank, _sound(one.source), _sound(one.origin), shown, _sound(name), winner)


@cache
def _secrets() -> Callable[[str, str], bool]:
    """Return what says whether a string under a key is a plaintext secret."""
    return LayeredConfig([], spark_definition()).is_secret


def _problem(file: Content, problem: str) -> RecordRow:
    return RecordRow(**_of_file(file), problem=problem, day=_day(file) or "unknown")


def _of_file(file: Content) -> dict[str, Any]:
    return {"file": file.file, "modified": file.modified, "length": file.length}


def _day(file: Content) -> str:
    found = _DAY.search(file.file)
    return found[1] if found else ""


def _try(document: Any) -> TaskTry | None:
    """Return the try that a document names; None if a name or number is missing or impossible."""
    if not isinstance(document, dict):
        return None
    names = ("dag_id", "task_id", "run_id", "map_index", "try_number")
    found: list[Any] = [document.get(name) for name in names]
    dag, task, run, index, number = found
    region = document.get("region", "")
    has_names = all(isinstance(name, str) and name for name in (dag, task, run)) and isinstance(region, str)
    has_numbers = type(index) is int and type(number) is int
    if not (has_names and has_numbers and -1 <= index <= _LAST_NUMBER and 0 < number <= _LAST_NUMBER):
        return None
    return TaskTry(dag, task, run, index, number, region)


def _moment(text: str) -> str | None:
    """Return a moment in UTC, as a string that sorts by time; None if ``text`` is not a moment."""
    try:
        return in_utc(datetime.fromisoformat(text)).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError):
        return None


def _sound(text: str) -> str:
    """Return ``text`` with what Java cannot read replaced."""
    return text if is_unicode(text) else text.encode("utf-8", "replace").decode()


class StoredEntry(NamedTuple):
    """
    An entry of the record of a try.

    :param place: the number of its table; the first table with a record wins
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
    rows = (StoredEntry(*entry) for entry in entries)  # Spark passes rows of its own
    for names, of in groupby(rows, lambda one: one[:5]):
        yield TaskTry(*names), of
