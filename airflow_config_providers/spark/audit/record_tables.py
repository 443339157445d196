"""Records in tables of a database, which executors read themselves, by JDBC."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self

from airflow_config_providers.spark.audit.jdbc import JdbcDatabase, predicates
from airflow_config_providers.spark.audit.record_row import CONTENT, TRY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RANGE: Final = "id"
"""The column whose ranges tasks read: all entries of a try have the same."""

_ENTRY: Final = (*TRY, "place", "key", "at")
"""The columns of an entry, in the order of ``job.record_entries.StoredEntry``, without its value."""

_KNOWN: Final = "file string, modified bigint, length bigint, folder string"

Rows = Iterable[Any]


@dataclass(frozen=True, slots=True)
class EntryQueries:
    """
    How entries of records are selected. All queries name their columns as ``_ENTRY`` does, but for the try's number.

    :param bounds: the ids in ``RANGE`` between which a task reads
    :param times: entries without their values
    :param entries: entries with their values; None for those that are too large
    :param first_key: the pattern of the key of a first entry, with which a record exists; its group is the try's number
    :param any_key: the pattern of the keys of all entries
    """

    bounds: str = field(repr=False)
    times: str = field(repr=False)
    entries: str = field(repr=False)
    first_key: str
    any_key: str


@dataclass(frozen=True, slots=True)
class RecordTables:
    """
    The records in a database.

    Both functions get entries in the order of their tries and tables, and run in executors.

    :param times_of: returns the name of each record, and when it was stored, in microseconds since 1970
    :param contents_of: returns the name of each record, and its content
    """

    jdbc: JdbcDatabase
    queries: EntryQueries
    times_of: Callable[[Rows], Iterator[tuple[str, int]]]
    contents_of: Callable[[Rows], Iterator[tuple[str, bytes]]]


@dataclass(frozen=True, slots=True)
class TablesReader:
    """
    Reads records on Spark.

    :param ranges: conditions, each of which selects the entries that one task reads; none for one task
    """

    session: SparkSession
    tables: RecordTables
    ranges: list[str]

    @classmethod
    def of(cls, session: SparkSession, tables: RecordTables) -> Self:
        """Return what reads ``tables``."""
        ids = sorted(row[0] for row in tables.jdbc.read(session, tables.queries.bounds).collect())
        return cls(session, tables, predicates([RANGE], [[one] for one in ids]))

    def listed(self) -> DataFrame:
        """Return all records, in folders that have the number of the range in which they are."""
        queries = self.tables.queries
        entries = self._sorted(queries.times, queries.first_key, self.ranges)
        known = entries.select(*_ENTRY).rdd.mapPartitionsWithIndex(partial(_known, self.tables.times_of))
        return self.session.createDataFrame(known, _KNOWN, verifySchema=False)

    def contents(self, new: DataFrame) -> DataFrame:
        """Return the records of ``new`` with their contents."""
        queries, folders = self.tables.queries, [int(row[0]) for row in new.select("folder").distinct().collect()]
        ranges = [self.ranges[number] for number in sorted(folders)] if self.ranges else []
        entries = self._sorted(queries.entries, queries.any_key, ranges)
        found = entries.select(*_ENTRY, "value").rdd.mapPartitions(self.tables.contents_of)
        contents = self.session.createDataFrame(found, "file string, content binary", verifySchema=False)
        # When it was stored is said by the list: a record that is written meanwhile is read by the next audit, too.
        return new.join(contents, "file").select(*(name.split()[0] for name in CONTENT.split(", ")))

    def _sorted(self, query: str, keys: str, ranges: list[str]) -> DataFrame:
        """Return the entries in ranges, one a partition, such that those of a try follow each other."""
        from pyspark.sql import functions as F  # noqa: N812, PLC0415 - its usual name; slow to import

        number = F.regexp_extract("key", rf"\A{keys}\z", 1)
        found = self.tables.jdbc.read(self.session, query, ranges).withColumn(TRY[-1], number).where(number != "")
        return found.withColumn(TRY[-1], F.col(TRY[-1]).cast("int")).sortWithinPartitions(*TRY, "place")


def _known(
    times_of: Callable[[Rows], Iterator[tuple[str, int]]], number: int, entries: Rows
) -> Iterator[tuple[str, int, int, str]]:
    for name, modified in times_of(entries):
        yield name, modified, 0, str(number)
