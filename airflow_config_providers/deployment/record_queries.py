"""The statements that select records in Airflow's database, for executors that read them by JDBC."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from airflow_config_providers.airflow_compat import map_index_of
from airflow_config_providers.deployment.records import of_records, reading, record_models, written_at
from airflow_config_providers.job.record_entries import contents_of, times_of
from airflow_config_providers.job.record_store import ANY_KEY, FIRST_KEY, LARGEST_ENTRY
from airflow_config_providers.spark.audit.jdbc import JdbcDatabase
from airflow_config_providers.spark.audit.record_tables import RANGE, EntryQueries, RecordTables

_PART: Final = 5_000
"""About how many entries a task reads: all of a run, so that no task has only some of a record."""


def record_tables(since: str) -> RecordTables | None:
    """
    Return the records that were stored ``since`` a day; None if executors cannot read this database.

    :raises ProviderUnavailableError: the database is unavailable
    """
    url = reading(lambda session: session.get_bind().url)
    jdbc = JdbcDatabase.of(url)
    if jdbc is None:
        return None
    dialect = url.get_dialect()(paramstyle="named")  # with others, a percent sign is written twice
    bounds, times, entries = (
        str(query.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))
        for query in (_bounds(), _entries(), _entries(has_values=True))
    )
    queries = EntryQueries(bounds, times, entries, FIRST_KEY, ANY_KEY)
    return RecordTables(jdbc, queries, partial(times_of, since), contents_of)


def _entries(*, has_values: bool = False) -> Any:
    """Return the statement that selects the entries of records in all tables."""
    from sqlalchemy import literal, select, union_all  # noqa: PLC0415 - slow to import

    selects = []
    for place, model in enumerate(record_models()):
        named = {**_columns(model), "place": literal(place), **({"value": _value(model)} if has_values else {})}
        columns = (column.label(name) for name, column in named.items())
        selects.append(select(*columns).where(*of_records(model)))
    return union_all(*selects)


def _columns(model: Any) -> dict[str, Any]:
    from sqlalchemy import Text, cast  # noqa: PLC0415 - slow to import

    return {
        RANGE: model.dag_run_id,
        "dag": model.dag_id,
        "task": model.task_id,
        "run": model.run_id,
        "map_index": map_index_of(model),
        "key": model.key,
        "at": cast(written_at(model), Text),
    }


def _value(model: Any) -> Any:
    """Return the JSON of an entry; NULL if it is larger than entries of records are."""
    from sqlalchemy import Text, case, cast, func  # noqa: PLC0415 - slow to import

    text = cast(model.value, Text)
    return case((func.length(text) <= LARGEST_ENTRY, text))


def _bounds() -> Any:
    """Return the statement that selects the id of one entry in some thousands, each id once."""
    from sqlalchemy import func, select  # noqa: PLC0415 - slow to import

    entries = _entries().subquery("entries")
    one = entries.c[RANGE]
    numbered = select(one, func.row_number().over(order_by=one).label("number")).subquery("numbered")
    return select(numbered.c[RANGE]).distinct().where(numbered.c.number % _PART == 0)
