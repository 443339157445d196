"""The records of tries, read from Airflow's database or from the files of the deployment, which can be unavailable."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from typing import Any, Final, TypeVar
from uuid import UUID

from airflow_config_providers import settings
from airflow_config_providers.airflow_compat import map_index_of, region_of
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.core.text import counted, is_storable, nearest, printable
from airflow_config_providers.core.variable import is_like
from airflow_config_providers.deployment.rows import Row
from airflow_config_providers.dynamic.database import unavailable
from airflow_config_providers.exceptions import ConfigException, UnknownResourceError
from airflow_config_providers.job.records.entries import (
    LARGEST_ENTRY,
    PREFIX,
    entry_of,
    first_record,
    keys_of,
    tries_of,
)
from airflow_config_providers.job.records.files import RecordFiles
from airflow_config_providers.job.records.record import TaskTry, TryRecord
from airflow_config_providers.lazy import sa

_NAMED: Final = 50
"""How many of the last runs are searched for a name that resembles that of a missing run."""

_LISTED: Final = 500
"""How many of the entries of the last records are read for a list of tries; a large record has several."""

_RECENT: Final = 20
"""How many of the last records are read in search of a submitted job."""

_LAST_INDEX: Final = 2**31 - 1
"""The largest number in a column of Airflow's database."""

_ILLEGAL_MIX_OF_COLLATIONS: Final = 1267
"""A number of MySQL's errors."""

_Found = TypeVar("_Found")


def require_map_index(map_index: int | None) -> None:
    """
    Refuse a number that cannot be in Airflow's database, which would fail to look for it.

    :raises UnknownResourceError: it cannot be there
    """
    if map_index is not None and not -1 <= map_index <= _LAST_INDEX:
        raise UnknownResourceError(f"There is no instance with a map index above {_LAST_INDEX} or below -1.")


@dataclass(frozen=True, slots=True)
class RunChoice:
    """
    The try that a user selects.

    :param run_id: the id of the DAG run
    :param try_number: None for the last one that has a record
    :param map_index: None for the only instance of the task that has a record
    :raises UnknownResourceError: Airflow's database cannot have such a run or instance
    """

    run_id: str
    try_number: int | None = None
    map_index: int | None = None

    def __post_init__(self) -> None:
        if not is_storable(self.run_id):
            raise UnknownResourceError(f"There is no run '{printable(self.run_id)}'. Correct its id.")
        require_map_index(self.map_index)


@dataclass(frozen=True, slots=True)
class StoredTry:
    """
    A try that has a record in the database.

    :param at: when Airflow stored the record; what the record says itself, others could have written
    """

    task: TaskTry
    at: datetime


def record_of(task: ConfigResource, choice: RunChoice) -> TryRecord:
    """
    Return the record of a try. Of one that followed a job, it shows what that job was submitted with.

    :raises UnknownResourceError: there is no such run, or no record of the try
    :raises ConfigException: the task is mapped, and the choice names no instance
    :raises ProviderUnavailableError: the database or the files are unavailable
    """
    one = reading(lambda session: _chosen(session, task, choice))
    record = (_of_try(one) if one else None) or _filed(task, choice)
    if record is None:
        raise UnknownResourceError(reading(lambda session: _no_record(session, task, choice)))
    return _with_followed(record)


def last_submitted(task: ConfigResource) -> TryRecord | None:
    """
    Return the record of the last try in the database that was not refused; None if there is none.

    :raises ProviderUnavailableError: the database is unavailable
    """
    return reading(lambda session: next(_submitted(session, task), None))


def last_tries(task: ConfigResource) -> list[TaskTry]:
    """
    Return the last tries of ``task`` that have a record in the database, the last one first.

    :raises ProviderUnavailableError: the database is unavailable
    """
    return reading(lambda session: list(dict.fromkeys(one.task for one in recent_tries(session, task, limit=_LISTED))))


def _with_followed(record: TryRecord) -> TryRecord:
    if record.follows is None or record.follows == record.task.try_number:
        return record
    submitted = replace(record.task, try_number=record.follows)
    found = _of_try(submitted)
    note = f"This try submitted nothing: it followed job {printable(record.job or '?')} of try {record.follows}."
    if found is None:
        return replace(record, notes=(note, *record.notes))
    return replace(found, task=record.task, at=record.at, follows=record.follows, notes=(note, *found.notes))


def _of_try(one: TaskTry) -> TryRecord | None:
    """Return the record of a try in the database or else in the files, without the one that it follows."""

    def filed() -> TryRecord | None:
        return _of_files(lambda files: files.read(one))

    try:
        return reading(lambda session: stored_record(session, one)) or filed()
    except ConfigException:  # a custom backend of the workers keeps it
        if (found := filed()) is None:
            raise
        return found


def _chosen(session: Any, task: ConfigResource, choice: RunChoice) -> TaskTry | None:
    """Return the try, if the database has a record of it."""
    keys = list(_keys(session, task, choice))
    places = {(index, region) for index, region, _ in keys}
    _require_one(task, [index for index, _ in places])
    tries = tries_of(key for *_, key in keys)
    number = choice.try_number or (tries[0] if tries else None)
    if number not in tries:
        return None
    index, region = places.pop()
    return TaskTry(task.dag_id, task.task_id, choice.run_id, index, number, region)


def _require_one(task: ConfigResource, indexes: Sequence[int]) -> None:
    if len(set(indexes)) > 1:
        raise ConfigException(
            f"{task} is mapped, or in a loop: {len(indexes)} of its instances have a record in this run. Choose one "
            f"by its map index, such as {min(indexes)}."
        )
    if len(indexes) > 1:
        raise ConfigException(
            f"{task} is in a loop: in this run, {len(indexes)} of its instances with the number {indexes[0]} have a "
            f"record, and none of them can be chosen here. The task log of each shows its configuration; if "
            f"[config_providers] records_path is set, each has its own file there."
        )


def _keys(session: Any, task: ConfigResource, choice: RunChoice) -> Iterator[tuple[int, str, str]]:
    """Yield (map index, region, key) for each entry of a record of the run."""
    for model in record_models():
        index = map_index_of(model)
        query = sa.select(index, region_of(model), model.key).where(
            *of_records(model, task), model.run_id == choice.run_id
        )
        if choice.map_index is not None:
            query = query.where(index == choice.map_index)
        yield from ((index, hex_of(region), key) for index, region, key in session.execute(query))


def hex_of(region: UUID | None) -> str:
    """Return a region as ``TaskTry`` has it."""
    return region.hex if region else ""


def _is_in(model: Any, one: TaskTry) -> Any:
    return model.region_id == UUID(one.region) if one.region else region_of(model).is_(None)


def stored_record(session: Any, one: TaskTry) -> TryRecord | None:
    """
    Return the record of a try in the database.

    :raises ConfigException: a custom backend of the workers keeps it
    """
    return first_record(stored_entries(session, one), one)


def stored_entries(session: Any, one: TaskTry) -> Iterator[Mapping[str, Any]]:
    """Yield what each table has of the record of a try. What is larger than entries of records are is not fetched."""
    for model in record_models():
        text = sa.cast(model.value, sa.Text)  # of XComs, SQLAlchemy would parse it, and fail if it is too deep
        query = sa.select(model.key, text).where(
            *of_records(model, ConfigResource.of_task(one.dag_id, one.task_id)),
            model.run_id == one.run_id,
            map_index_of(model) == one.map_index,
            _is_in(model, one),
            model.key.in_(keys_of(one.try_number)),
            sa.func.length(text) <= LARGEST_ENTRY,
        )
        yield {name: entry_of(value) for name, value in session.execute(query)}


def _submitted(session: Any, task: ConfigResource) -> Iterator[TryRecord]:
    for one in recent_tries(session, task, limit=_RECENT):
        record = stored_record(session, one.task)
        if record is not None and not record.problems:
            yield record


def recent_tries(
    session: Any, task: ConfigResource | None = None, *, map_index: int | None = None, limit: int | None = None
) -> Iterator[StoredTry]:
    """
    Yield the tries that have a record, the last one first.

    :param task: None for all tasks
    :param map_index: None for all instances
    :param limit: how many entries are read of each table; None for all
    """
    for model in record_models():
        when = written_at(model)
        instance = () if map_index is None else (map_index_of(model) == map_index,)
        ours = _first_entries(model).where(*of_records(model, task), *instance).order_by(when.desc()).limit(limit)
        yield from _tries(session, ours)


def _first_entries(model: Any) -> Any:
    """Return a query for entries of which ``_tries`` makes tries; those with the rest of a record are left out."""
    task = (model.dag_id, model.task_id, model.run_id, map_index_of(model), region_of(model).label("loop"))
    rest = f"{PREFIX}_%_%".replace("_", "/_")
    return sa.select(written_at(model), model.key, *task).where(model.key.not_like(rest, escape="/"))


def _tries(session: Any, query: Any) -> Iterator[StoredTry]:
    for at, key, dag_id, task_id, run_id, index, region in session.execute(query).all():
        for number in tries_of([key]):
            yield StoredTry(TaskTry(dag_id, task_id, run_id, index, number, hex_of(region)), at)


def record_models() -> list[Any]:
    """Return where Airflow keeps records: the state of tasks, since Airflow 3.3, and XComs."""
    from airflow.models.xcom import XComModel  # noqa: PLC0415 - heavy

    try:
        from airflow.models.task_state_store import TaskStateStoreModel  # noqa: PLC0415 - as above
    except ModuleNotFoundError:
        return [XComModel]
    return [TaskStateStoreModel, XComModel]


def written_at(model: Any) -> Any:
    """Return the column that says when Airflow stored an entry."""
    return getattr(model, "updated_at", None) or model.timestamp


def of_records(model: Any, task: ConfigResource | None = None) -> Iterable[Any]:
    """Return the conditions on entries of records."""
    of_task = () if task is None else (model.dag_id == task.dag_id, model.task_id == task.task_id)
    return (*of_task, model.key.startswith(f"{PREFIX}_", autoescape=True))


def _filed(task: ConfigResource, choice: RunChoice) -> TryRecord | None:
    one = TaskTry(task.dag_id, task.task_id, choice.run_id, -1 if choice.map_index is None else choice.map_index)
    return _of_files(lambda files: _of_folder(files, one, choice.try_number))


def _of_folder(files: RecordFiles, one: TaskTry, number: int | None) -> TryRecord | None:
    tries = [number] if number else files.tries(one)
    return files.read(replace(one, try_number=tries[0])) if tries else None


def _of_files(read: Callable[[RecordFiles], TryRecord | None]) -> TryRecord | None:
    path = settings.records_path()
    return read(RecordFiles(path)) if path else None


def _no_record(session: Any, task: ConfigResource, choice: RunChoice) -> str:
    from airflow.models.dagrun import DagRun  # noqa: PLC0415 - heavy

    of_dag = sa.select(DagRun.run_id).where(DagRun.dag_id == task.dag_id)
    if session.scalar(of_dag.where(DagRun.run_id == choice.run_id)) is None:
        known = session.scalars(of_dag.order_by(DagRun.id.desc()).limit(_NAMED)).all()
        return (
            f"DAG '{printable(task.dag_id)}' has no run '{printable(choice.run_id)}'"
            f"{nearest(choice.run_id, known) or '.'} airflow dags list-runs shows its runs."
        )
    tries = tries_of(key for *_, key in _keys(session, task, choice))
    number = choice.try_number or next(iter(tries), None)
    if number in tries:
        return (
            f"{task}: the record of try {number} in run '{printable(choice.run_id)}' cannot be read: a part is missing "
            f"or was changed, or another version wrote it. The log of the try shows its configuration, too."
        )
    which = f"try {choice.try_number}" if choice.try_number else "no try"
    has_none = "has no record" if choice.try_number else "has a record"
    mapped = choice.map_index is not None and choice.map_index >= 0
    instance = f" of instance {choice.map_index}" if mapped else ""
    return (
        f"{task}: {which}{instance} in run '{printable(choice.run_id)}' {has_none}. It has not run, or it ran without "
        f"this version of airflow-config-providers or with records_enabled=False, or Airflow has deleted the record "
        f"([state_store] default_retention_days). The log of a try shows its configuration, too."
    )


def _is_impossible(error: Exception) -> bool:
    """Return whether MySQL could not compare an id, whose columns are in utf8mb3, with a longer character."""
    origin = getattr(error, "orig", None)
    return next(iter(getattr(origin, "args", ())), None) == _ILLEGAL_MIX_OF_COLLATIONS


def reading(read: Callable[[Any], _Found]) -> _Found:
    """
    Return what ``read`` returns, given a session of the database.

    :raises UnknownResourceError: ``read`` looks for an id that MySQL cannot keep
    :raises ProviderUnavailableError: the database is unavailable
    """
    from airflow.utils.session import create_session  # noqa: PLC0415 - heavy

    try:
        with create_session() as session:
            return read(session)
    except sa.exc.SQLAlchemyError as error:
        is_impossible, failure = _is_impossible(error), unavailable("reading from it", error)
    if is_impossible:
        raise UnknownResourceError(
            "There is no such DAG, task or run: its id has characters, such as emoji, that Airflow's ids cannot have "
            "in MySQL. Correct the id."
        )
    raise failure


_Stored = tuple[datetime, TryRecord]
"""When Airflow stored a record, and the record."""


_NO_HASHES: Final = (
    "{} of {} left no hash of the value, so is_newest is empty there. Set [config_providers] "
    "password_encoder_secret where tasks run: their next jobs leave hashes, unless the driver resolves the references."
)


def usages(pattern: str, may_see: Callable[[Collection[str]], Collection[str]] = tuple) -> list[Row]:
    """
    Return a row for each task and each reference of its last job that matches ``pattern``.

    :param pattern: a reference, in which ``*`` matches any text
    :param may_see: returns those of the given DAG ids that are shown; the newest value can be that of a hidden one
    :raises ProviderUnavailableError: the database is unavailable
    """
    stored = reading(lambda session: [(at, used_like(record, pattern)) for at, record in _last_of_each(session)])
    newest = _newest(stored)
    found = [_row(record, reference, newest) for _, record in stored for reference in record.references]
    rows = sorted(found, key=lambda row: (row["reference"], row["dag"], row["task"], row["map_index"]))
    visible = set(may_see({row["dag"] for row in rows}))
    return [row for row in rows if row["dag"] in visible]


def used_like(record: TryRecord, pattern: str) -> TryRecord:
    """Return a record with the references that match a pattern, and without its keys: all records are held at once."""
    matching = {name: digest for name, digest in record.references.items() if is_like(name, pattern)}
    return replace(record, configs={}, references=matching)


def about(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a sentence about what ``usages`` could not find out."""
    if without := sum(not row["hash"] for row in rows):
        yield _NO_HASHES.format(without, counted(len(rows), "job"))


def _last_of_each(session: Any) -> Iterator[_Stored]:
    """Yield the record of the last job of each task instance; a try that was refused, or followed a job, had none."""
    seen: set[tuple[str, str, int]] = set()
    for one in _last_tries_of_each(session):
        instance = (one.task.dag_id, one.task.task_id, one.task.map_index)
        if instance not in seen and (found := _last_job(session, one)):
            seen.add(instance)
            yield found


def _last_tries_of_each(session: Any) -> Iterator[StoredTry]:
    """Yield the last try of each task instance in each table, and no others, of which there can be many more."""
    for model in record_models():
        when = written_at(model)
        instance = (model.dag_id, model.task_id, map_index_of(model).label("map_index"))
        entries = _first_entries(model).where(*of_records(model))
        last = entries.with_only_columns(*instance, sa.func.max(when).label("at")).group_by(*instance).subquery()
        same = (column == last.c[column.key] for column in instance)
        yield from _tries(session, entries.join(last, sa.and_(*same, when == last.c.at)))


def _last_job(session: Any, last: StoredTry) -> _Stored | None:
    """Return the record of the last job of a task instance, whose last try could have had none."""
    task = ConfigResource.of_task(last.task.dag_id, last.task.task_id)
    tries = recent_tries(session, task, map_index=last.task.map_index)
    for one in chain((last,), (one for one in tries if one != last)):
        record = stored_record(session, one.task)
        if record is not None and not record.problems and record.follows is None:
            return one.at, record
    return None


def _newest(stored: Iterable[_Stored]) -> dict[str, tuple[str, str]]:
    """Return reference, in each version of its bundle -> name of the key and hash that the last of all jobs had."""
    oldest_first = sorted(stored, key=lambda one: one[0])
    return {
        record.unversioned(reference): (record.key_id, digest)
        for _, record in oldest_first
        for reference, digest in record.references.items()
        if digest
    }


def _row(record: TryRecord, reference: str, newest: dict[str, tuple[str, str]]) -> Row:
    one, digest = record.task, record.references[reference]
    key_id, last = newest.get(record.unversioned(reference), ("", ""))
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
