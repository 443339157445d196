"""Records of tries as rows of a table, and the tables of a database that executors read themselves, by JDBC."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from airflow_config_providers.spark.audit import F
from airflow_config_providers.spark.audit.jdbc import JdbcDatabase, predicates

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Content(NamedTuple):
    """
    A file with records, one a line.

    :param modified: when it was modified, in microseconds since 1970
    :param length: how many bytes it has
    :param content: the bytes; None if they are too many
    """

    file: str
    modified: int
    length: int
    content: bytes | None


class ValueRow(NamedTuple):
    """
    A value that a layer had for a key.

    :param rank: 0 for the winner, then in order of precedence
    :param value: the string with its references; None for a plaintext secret
    :param name: the name that the layer has for the key
    :param winner: the source of the winner
    """

    key: str
    rank: int
    source: str
    origin: str
    value: str | None
    name: str
    winner: str


class RecordRow(NamedTuple):
    """
    A record, or what could not be read as one: then ``problem`` says why, and the rest is empty.

    :param file: where it was read
    :param modified: when the file was modified, in microseconds since 1970
    :param length: of the file, in bytes
    :param day: the day of its folder or, outside of such a folder, of the record itself
    :param at: when the configuration was settled, in ISO 8601 and UTC
    :param is_later: whether a later version of this package has written it
    :param follows: the try that submitted the job, if this one only follows it
    :param refusals: why the try was refused
    :param bundle_folder: the folder of the version of its DAG bundle; empty if it is not known, or there is none
    """

    file: str
    modified: int
    length: int
    problem: str
    day: str
    dag: str = ""
    task: str = ""
    run: str = ""
    map_index: int = -1
    try_number: int = 0
    at: str = ""
    is_later: bool = False
    follows: int | None = None
    refusals: Sequence[str] = ()
    versions: Mapping[str, str] = {}
    key_id: str = ""
    references: Mapping[str, str | None] = {}
    configs: Sequence[ValueRow] = ()
    bundle_folder: str = ""


_VALUE: Final = "key: string, rank: int, source: string, origin: string, value: string, name: string, winner: string"

TRY: Final = ("dag", "task", "run", "map_index", "try_number")
"""The columns that name a try."""

_FILE: Final = "file string, modified bigint, length bigint"

CONTENT: Final = f"{_FILE}, content binary"
"""The columns of ``Content``, for Spark."""

LISTED: Final = f"{_FILE}, folder string"
"""Those of a file that was not read yet."""

SCHEMA: Final = (
    f"{_FILE}, problem string, day string, dag string, task string, run string, "
    "map_index int, try_number int, at string, is_later boolean, follows int, refusals array<string>, "
    "versions map<string, string>, key_id string, references map<string, string>, "
    f"configs array<struct<{_VALUE}>>, bundle_folder string"
)
"""The columns of ``RecordRow``, for Spark."""


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
