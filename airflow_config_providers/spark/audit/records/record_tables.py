"""Records in tables of a database, which executors read themselves, by JDBC."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self

from airflow_config_providers.spark.audit import F
from airflow_config_providers.spark.audit.jdbc import JdbcDatabase, predicates
from airflow_config_providers.spark.audit.records.record_row import CONTENT, LISTED, TRY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RANGE: Final = "id"
"""The column whose ranges tasks read: all entries of a try have the same."""

_ENTRY: Final = (*TRY, "place", "key", "at")
"""The columns of an entry, in the order of ``job.records.table.StoredEntry``, without its value."""

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
    ranges: Sequence[str]

    @classmethod
    def of(cls, session: SparkSession, tables: RecordTables) -> Self:
        """Return a reader of ``tables``."""
        ids = sorted(row[0] for row in tables.jdbc.read(session, tables.queries.bounds).collect())
        return cls(session, tables, predicates([RANGE], [[one] for one in ids]))

    def listed(self) -> DataFrame:
        """Return all records, in folders that have the number of the range in which they are."""
        queries = self.tables.queries
        entries = self._sorted(queries.times, queries.first_key, self.ranges)
        known = entries.select(*_ENTRY).rdd.mapPartitionsWithIndex(partial(_known, self.tables.times_of))
        return self.session.createDataFrame(known, LISTED, verifySchema=False)

    def contents(self, new: DataFrame) -> DataFrame:
        """Return the records of ``new`` with their contents."""
        folders = sorted(int(row.folder) for row in new.select("folder").distinct().collect())
        if not folders:
            return self.session.createDataFrame([], CONTENT)
        ranges = [self.ranges[number] for number in folders] if self.ranges else []
        entries = self._sorted(self.tables.queries.entries, self.tables.queries.any_key, ranges)
        found = entries.select(*_ENTRY, "value").rdd.mapPartitions(self.tables.contents_of)
        contents = self.session.createDataFrame(found, "file string, content binary", verifySchema=False)
        # The list says when a record was stored: one that is written meanwhile is read by the next audit, too.
        return new.join(contents, "file").select("file", "modified", "length", "content")

    def _sorted(self, query: str, keys: str, ranges: Sequence[str]) -> DataFrame:
        """Return the entries in ranges, one for each partition; those of a try follow each other."""
        number = F.regexp_extract("key", rf"\A{keys}\z", 1)
        found = self.tables.jdbc.read(self.session, query, ranges).where(number != "")
        return found.withColumn("try_number", number.cast("int")).sortWithinPartitions(*TRY, "place")


def _known(
    times_of: Callable[[Rows], Iterator[tuple[str, int]]], number: int, entries: Rows
) -> Iterator[tuple[str, int, int, str]]:
    for name, modified in times_of(entries):
        yield name, modified, 0, str(number)
