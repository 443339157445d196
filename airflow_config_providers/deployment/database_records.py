"""What Airflow's database knows of past tries, for the audit on Spark, and how executors read it by JDBC."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final

from airflow_config_providers.airflow_compat import map_index_of, region_of
from airflow_config_providers.deployment.records import (
    of_records,
    reading,
    recent_tries,
    record_models,
    stored_entries,
    written_at,
)
from airflow_config_providers.exceptions import ProviderUnavailableError
from airflow_config_providers.job.records.entries import ANY_KEY, FIRST_KEY, LARGEST_ENTRY
from airflow_config_providers.job.records.record import LARGEST
from airflow_config_providers.job.records.table import content_of, contents_of, in_utc, microseconds, name_of, times_of
from airflow_config_providers.lazy import sa
from airflow_config_providers.spark.audit.jdbc import JdbcDatabase, sql_of
from airflow_config_providers.spark.audit.records.past_records import PastRecords, RecordFilter, RecordReader
from airflow_config_providers.spark.audit.records.record_tables import RANGE, Content, EntryQueries, RecordTables
from airflow_config_providers.spark.audit.spark_failures import translating_failures

_BATCH: Final = 500
"""The most records that are read at once."""

_LARGEST_BATCH: Final = 2 * LARGEST
"""The bytes after which no more records are read at once. A task can write large ones."""

SOURCE: Final = "database"
"""The name of the database among the sources of records that are kept."""


def records_of_database(reader: RecordReader, wanted: RecordFilter, notes: Callable[[str], None]) -> PastRecords:
    """
    Return the records in Airflow's database: read by executors over JDBC or, if they cannot, by this process.

    :param notes: is called with a sentence about how they were read, if there is a better way
    :raises ProviderUnavailableError: the database is unavailable
    """
    tables = record_tables(wanted.since)
    if tables is not None and _is_readable(tables.jdbc, reader.session, notes):
        with translating_failures(_unreadable):
            return reader.of_tables(SOURCE, tables, wanted)
    found = DatabaseRecords(wanted.since)
    return reader.of_batches(SOURCE, found.known, found.batches, wanted)


def first_of_database(wanted: RecordFilter) -> str | None:
    """
    Return when Airflow stored the first record in its database, in ISO 8601 and UTC; None without records.

    :raises ProviderUnavailableError: the database is unavailable
    """
    found = reading(lambda session: [session.scalar(_first(one, wanted)) for one in record_models()])
    return min((in_utc(at).isoformat(timespec="milliseconds") for at in found if at), default=None)


def _first(model: Any, wanted: RecordFilter) -> Any:
    at = written_at(model)
    chosen = [model.dag_id == wanted.dag] if wanted.dag else []
    if wanted.since:
        chosen.append(at >= in_utc(datetime.fromisoformat(wanted.since)))
    return sa.select(sa.func.min(at)).where(*of_records(model), *chosen)


def _is_readable(jdbc: JdbcDatabase, session: Any, notes: Callable[[str], None]) -> bool:
    try:
        if jdbc.has_driver(session):
            return True
    except ProviderUnavailableError as error:
        notes(f"{' '.join(error.problems)} So one process reads the records.")
    else:
        notes(jdbc.driver.note)
    return False


def _unreadable(problem: str) -> ProviderUnavailableError:
    return ProviderUnavailableError(
        f"Spark could not read the records in Airflow's database by JDBC, or not keep them ({problem}). All executors "
        f"must reach the address in [database] sql_alchemy_conn and write to the folder of --parquet, and need this "
        f"package. Without the driver, one process reads the records."
    )


class DatabaseRecords:
    """
    The records in Airflow's database, for ``RecordReader.of_batches``.

    :param since: the first day, such as ``2026-11-01``; empty for all
    :param largest: the bytes after which a batch has no more records
    :raises ProviderUnavailableError: the database is unavailable
    """

    def __init__(self, since: str = "", *, largest: int = _LARGEST_BATCH) -> None:
        self._largest = largest
        stored = reading(lambda session: list(recent_tries(session)))
        newest_last = ((name_of(one.task), one.task, in_utc(one.at)) for one in reversed(stored))
        self._tries = {name: (one, at) for name, one, at in newest_last if at.date().isoformat() >= since}

    @property
    def known(self) -> Mapping[str, int]:
        """Name of each record -> when it was written, in microseconds since 1970."""
        return {name: microseconds(at) for name, (_, at) in self._tries.items()}

    def batches(self, names: Sequence[str]) -> Iterator[list[Content]]:
        """
        Yield the contents of records, some at a time.

        :raises ProviderUnavailableError: the database is unavailable
        """
        start = 0
        while some := names[start : start + _BATCH]:
            batch = reading(partial(self._batch, some))
            yield batch
            start += len(batch)

    def _batch(self, names: Sequence[str], session: Any) -> list[Content]:
        return list(_up_to(self._largest, (self._content(session, name) for name in names)))

    def _content(self, session: Any, name: str) -> Content:
        one, at = self._tries[name]
        return Content(name, microseconds(at), 0, content_of(stored_entries(session, one), one))


def owners() -> list[tuple[str, str]]:
    """
    Return (DAG, owner) of all DAGs.

    :raises ProviderUnavailableError: the database is unavailable
    """
    from airflow.models.dag import DagModel  # noqa: PLC0415 - heavy

    query = sa.select(DagModel.dag_id, DagModel.owners)
    return [(dag, owner or "") for dag, owner in reading(lambda session: session.execute(query).all())]


def outcomes(dags: Collection[str]) -> list[tuple[str, str, str, int, bool]]:
    """
    Return how the task instances of DAGs ended: (DAG, task, run, map index, whether it failed).

    :raises ProviderUnavailableError: the database is unavailable
    """
    from airflow.models.taskinstance import TaskInstance as Ti  # noqa: PLC0415 - heavy

    columns = (Ti.dag_id, Ti.task_id, Ti.run_id, Ti.map_index, Ti.state)
    query = sa.select(*columns).where(Ti.state.in_(("success", "failed")))
    found: list[tuple[str, str, str, int, bool]] = []
    for dag in sorted(dags):
        rows = reading(lambda session, dag=dag: session.execute(query.where(Ti.dag_id == dag)).all())  # type: ignore[misc]
        found += [(*instance, state == "failed") for *instance, state in rows]
    return found


def _up_to(largest: int, contents: Iterable[Content]) -> Iterator[Content]:
    size = 0
    for one in contents:
        yield one
        size += len(one.content or b"")
        if size >= largest:
            return


_PART: Final = 5_000
"""About how many entries a task reads: all of a run, so that no task has only some of a record."""


def record_tables(since: str) -> RecordTables | None:
    """
    Return the records that were stored ``since`` a day; None if executors cannot read them.

    They cannot read all databases, and not records of tasks in a loop of Airflow 3.4, which they would mix.

    :raises ProviderUnavailableError: the database is unavailable
    """
    url = reading(lambda session: session.get_bind().url)
    jdbc = JdbcDatabase.of(url)
    if jdbc is None or reading(_has_loops):
        return None
    bounds, times, entries = (sql_of(one, url) for one in (_bounds(), _entries(), _entries(has_values=True)))
    queries = EntryQueries(bounds, times, entries, FIRST_KEY, ANY_KEY)
    return RecordTables(jdbc, queries, partial(times_of, since), contents_of)


def _has_loops(session: Any) -> bool:
    found = (sa.select(model.key).where(*of_records(model), region_of(model).is_not(None)) for model in record_models())
    return any(session.scalar(query.limit(1)) is not None for query in found)


def _entries(*, has_values: bool = False) -> Any:
    selects = []
    for place, model in enumerate(record_models()):
        named = {**_columns(model), "place": sa.literal(place), **({"value": _value(model)} if has_values else {})}
        columns = (column.label(name) for name, column in named.items())
        selects.append(sa.select(*columns).where(*of_records(model)))
    return sa.union_all(*selects)


def _columns(model: Any) -> dict[str, Any]:
    return {
        RANGE: model.dag_run_id,
        "dag": model.dag_id,
        "task": model.task_id,
        "run": model.run_id,
        "map_index": map_index_of(model),
        "key": model.key,
        "at": sa.cast(written_at(model), sa.Text),
    }


def _value(model: Any) -> Any:
    """Return the JSON of an entry; NULL if it is larger than entries of records are."""
    text = sa.cast(model.value, sa.Text)
    return sa.case((sa.func.length(text) <= LARGEST_ENTRY, text))


def _bounds() -> Any:
    """Return the statement that selects the id of one entry in some thousands, each id once."""
    entries = _entries().subquery("entries")
    one = entries.c[RANGE]
    numbered = sa.select(one, sa.func.row_number().over(order_by=one).label("number")).subquery("numbered")
    return sa.select(numbered.c[RANGE]).distinct().where(numbered.c.number % _PART == 0)
