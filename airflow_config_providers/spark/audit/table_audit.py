"""The Spark jobs that search the text in a database for known values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.exceptions import ConfigProvidersError
from airflow_config_providers.spark.audit.jdbc import JdbcDatabase, predicates
from airflow_config_providers.spark.audit.spark_failures import name_of
from airflow_config_providers.spark.audit.tables import SearchedRows, TextTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_AT_ONCE: Final = 4
"""How many tables are read at a time: most are small."""

Search = Callable[[TextTable, Iterable[Sequence[Any]]], SearchedRows]
"""Searches rows of a table. It runs in executors, so it is a function of a module."""


@dataclass(frozen=True, slots=True)
class TextDatabase:
    """
    A database whose text is searched.

    :param batches: returns the rows of a table as its query does, some at a time; it runs in the driver of the audit
    :param jdbc: where executors read it; None if they cannot
    """

    tables: Sequence[TextTable]
    batches: Callable[[TextTable], Iterator[list[Sequence[Any]]]] = field(repr=False)
    jdbc: JdbcDatabase | None = None


@dataclass(slots=True)
class TableReport:
    """
    The result of a database.

    :param unread: the name of a table or a value -> why not all of it was searched
    :param note: how it was read, if there is a better way; empty if there is none
    """

    found: SearchedRows = field(default_factory=SearchedRows)
    unread: dict[str, str] = field(default_factory=dict)
    note: str = ""

    def add(self, some: SearchedRows) -> None:
        """Add the result of some rows."""
        self.found.rows += some.rows
        self.found.octets += some.octets
        self.found.leaks += some.leaks
        self.unread |= some.problems


def search_tables(session: SparkSession, database: TextDatabase, search: Search) -> TableReport:
    """Search all tables: in executors that read them by JDBC or, if Spark lacks the driver, read by this process."""
    report = TableReport()
    try:
        read = _reader(session, database, report)
    except ConfigProvidersError as error:
        report.unread["database"] = " ".join(error.problems)
        return report
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        found: dict[str, list[SearchedRows]] = {table.name: [] for table in database.tables}
        running = {
            threads.submit(_search_table, read, table, search, found[table.name]): table for table in database.tables
        }
        for done in as_completed(running):
            for some in found[running[done].name]:  # also what was found before it failed
                report.add(some)
            try:
                done.result()
            except ConfigProvidersError as error:
                report.unread[f"database:{running[done].name}"] = " ".join(error.problems)
            except Exception as error:  # noqa: BLE001 - Py4J's errors hold a whole stack of Java, and perhaps values
                report.unread[f"database:{running[done].name}"] = f"It could not be read ({name_of(error)})."
    return report


def _reader(session: SparkSession, database: TextDatabase, report: TableReport) -> Callable[[TextTable], Iterator[Any]]:
    """Return what yields the rows of a table, some at a time, as data that is spread over the executors."""
    jdbc = database.jdbc
    if jdbc is not None and jdbc.has_driver(session):
        return partial(_by_jdbc, session, jdbc)
    if jdbc is not None:
        report.note = jdbc.driver.note
    return partial(_by_batches, session, database)


def _search_table(
    read: Callable[[TextTable], Iterator[Any]], table: TextTable, search: Search, found: list[SearchedRows]
) -> None:
    for rows in read(table):
        kept = rows.context.accumulator([], _Lists())
        try:
            rows.foreachPartition(partial(_search_part, search, table, kept))
        finally:  # a task that fails does not take along what others have found
            found += kept.value


def _search_part(search: Search, table: TextTable, kept: Any, rows: Iterable[Sequence[Any]]) -> None:
    kept.add([search(table, rows)])


class _Lists:
    """How an accumulator adds lists."""

    @staticmethod
    def zero(value: list[Any]) -> list[Any]:
        return []

    @staticmethod
    def addInPlace(value: list[Any], more: list[Any]) -> list[Any]:  # noqa: N802 - Spark calls it so
        value += more
        return value


def _by_jdbc(session: SparkSession, jdbc: JdbcDatabase, table: TextTable) -> Iterator[Any]:
    numbered = sorted(jdbc.read(session, table.bounds).collect(), key=lambda row: row.number)
    yield jdbc.read(session, table.query, predicates(table.key, [row[:-1] for row in numbered])).rdd


def _by_batches(session: SparkSession, database: TextDatabase, table: TextTable) -> Iterator[Any]:
    context = session.sparkContext
    for rows in database.batches(table):
        yield context.parallelize(rows, max(1, min(len(rows), context.defaultParallelism)))
