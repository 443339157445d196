"""Searches the text in tables of a database for known values, in executors if they can read it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.core.text import octets, one_line
from airflow_config_providers.exceptions import ConfigProvidersError
from airflow_config_providers.spark.audit.batches import batches
from airflow_config_providers.spark.audit.jdbc import JdbcDatabase, predicates
from airflow_config_providers.spark.audit.leaks.file_blocks import BLOCK
from airflow_config_providers.spark.audit.leaks.leak import MOST_LEAKS, Leak
from airflow_config_providers.spark.audit.leaks.leak_finder import without_values
from airflow_config_providers.spark.audit.leaks.sought import OccurrenceFinder
from airflow_config_providers.spark.audit.spark_failures import failure_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


LARGEST_VALUE: Final = 256 * 1024 * 1024
"""The most bytes of a compressed value that are searched."""

_STEP: Final = 4096
"""How many compressed bytes are decompressed at a time."""

_USUAL: Final = b"x"
"""The first byte of zlib's output with the default window size."""

_HAS_DICTIONARY: Final = 0x20
"""The bit of the second byte that says that a preset dictionary is needed."""

_TOO_LARGE: Final = f"Of its decompressed content, only the first {LARGEST_VALUE:,} bytes were searched."
_DAMAGED: Final = (
    "Its compressed content is damaged, or ends too early. What could be decompressed was searched, and so were all "
    "bytes as they are."
)


@dataclass(frozen=True, slots=True)
class Cell:
    """
    The content of one column of a row.

    :param problem: why not all of it is here; empty if all is
    """

    content: bytes
    problem: str = ""


def _cell_of(value: Any) -> Cell:
    """Return the text of a value in UTF-8, or its bytes: decompressed, if zlib has compressed them."""
    if value is None or isinstance(value, str):
        return Cell(octets(value or ""))
    data = bytes(value)
    return _decompressed(data) if _is_compressed(data) else Cell(data)


def _is_compressed(data: bytes) -> bool:
    """Return whether ``data`` begins like zlib's output; with a preset dictionary, it could not be decompressed."""
    try:
        zlib.decompressobj().decompress(data[:2])
    except zlib.error:
        return False
    return len(data) > 1 and not data[1] & _HAS_DICTIONARY


def _decompressed(data: bytes) -> Cell:
    """
    Return the decompressed content of ``data``.

    What follows the compressed bytes is added as it is; if they are damaged or end too early, all of ``data`` is. Then
    text in UTF-8, and what has no content and an unusual beginning, only looks compressed: no problem is named.
    """
    content, rest, problem = bytearray(), data, "" if _is_text(data) else _DAMAGED
    for piece, after in _inflated(data):
        content += piece
        if after is not None:
            rest, problem = after, ""
        if len(content) > LARGEST_VALUE:
            return Cell(bytes(content[:LARGEST_VALUE]), _TOO_LARGE)
    if rest is data and content in data:  # as it is if nothing was compressed, or only stored
        return Cell(data, problem if content or data.startswith(_USUAL) else "")
    return Cell(b"\0".join((bytes(content), rest)) if rest else bytes(content), problem)


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _inflated(data: bytes) -> Iterator[tuple[bytes, bytes | None]]:
    """Yield the pieces of the content of ``data``, up to damage; the last has what follows the compressed bytes."""
    inflater = zlib.decompressobj()
    for place in range(0, len(data), _STEP):
        before, some = inflater.copy(), data[place : place + _STEP]
        try:
            piece = inflater.decompress(some)
        except zlib.error:
            yield _until_damage(before, some), None
            return
        yield piece, inflater.unused_data + data[place + _STEP :] if inflater.eof else None
        if inflater.eof:
            return


def _until_damage(inflater: Any, data: bytes) -> bytes:
    """Return the content of ``data`` before it is damaged: an error takes along all that its call has decompressed."""
    content = bytearray()
    with suppress(zlib.error):
        for octet in data:
            content += inflater.decompress(bytes((octet,)))
    return bytes(content)


_TOO_MANY: Final = f"It has {MOST_LEAKS:,} leaks: no more are listed of that."


@dataclass(frozen=True, slots=True)
class TextTable:
    """
    A table whose text is searched.

    The query names the columns that it returns ``k0``, ``k1`` and so on for ``labels``, ``at`` for when the row was
    written, and ``c0``, ``c1`` and so on for ``columns``.

    :param labels: the columns that name a row for people
    :param key: those of the primary key, as the query names them; empty if it has none
    :param columns: the columns that are searched
    :param query: the rows of the table
    """

    name: str
    labels: Sequence[str]
    key: Sequence[str]
    columns: Sequence[str]
    query: str = field(repr=False)


@dataclass(slots=True)
class SearchedRows:
    """
    The result of some rows of a table, or of a database.

    :param octets: how many bytes of text they have
    :param unread: the name of a table or a value -> why not all of it was searched
    :param note: how a database was read, if there is a better way; empty if there is none
    """

    rows: int = 0
    octets: int = 0
    leaks: list[Leak] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)
    note: str = ""

    def add(self, some: SearchedRows) -> None:
        """Add the result of some rows."""
        self.rows += some.rows
        self.octets += some.octets
        self.leaks += some.leaks
        self.unread |= some.unread


@dataclass(frozen=True, slots=True)
class _Row:
    """A row with its cells; ``labels`` name it."""

    labels: Sequence[Any]
    at: Any
    cells: Sequence[Cell]

    @property
    def size(self) -> int:
        """How many bytes of content it has."""
        return sum(len(cell.content) for cell in self.cells)


def search_rows(table: TextTable, rows: Iterable[Sequence[Any]], finder: OccurrenceFinder) -> SearchedRows:
    """Search rows as the query of ``table`` returns them, in memory for a few of them."""
    found = SearchedRows()
    for some in batches((_parted(table, row) for row in rows), attrgetter("size"), least=BLOCK):
        found.rows += len(some)
        found.octets += sum(row.size for row in some)
        try:
            _search_some(found, table, some, finder)
        except Exception as error:  # noqa: BLE001 - whatever one row does, the others are searched
            found.unread[f"database:{table.name}"] = f"Some rows could not be searched ({type(error).__name__})."
    return found


def _search_some(found: SearchedRows, table: TextTable, rows: Sequence[_Row], finder: OccurrenceFinder) -> None:
    cells = [cell for row in rows for cell in row.cells]
    together = b"\0".join(cell.content for cell in cells)  # because it is fast to search all at once
    if any(cell.problem for cell in cells) or any(finder.find(together)):
        for row in rows:
            _add(found, table, row, finder)


def _parted(table: TextTable, row: Sequence[Any]) -> _Row:
    values = iter(row)
    labels, at = tuple(islice(values, len(table.labels))), next(values)
    return _Row(labels, at, [_cell_of(value) for value in values])


def _add(found: SearchedRows, table: TextTable, row: _Row, finder: OccurrenceFinder) -> None:
    for column, cell in zip(table.columns, row.cells, strict=True):
        content = cell.content
        leaks = list(islice(finder.find(content), MOST_LEAKS)) if content else []
        file = _name(table, column, row, finder) if leaks or cell.problem else ""
        line, counted, at = 1, 0, _moment(row.at)
        for one in leaks:
            line += content.count(b"\n", counted, one.start)
            counted = one.start
            found.leaks.append(Leak.of(one, file, line=line, modified=at))
        if problem := _TOO_MANY if len(leaks) == MOST_LEAKS else cell.problem:
            found.unread[file] = problem


def _name(table: TextTable, column: str, row: _Row, finder: OccurrenceFinder) -> str:
    """Return the name of a value: references in place of values that its key shows, and no empty parts of the key."""
    labels = zip(table.labels, row.labels, strict=True)
    key = "/".join(f"{label}={value}" for label, value in labels if value is not None)
    return one_line(without_values(f"database:{table.name}.{column}:{key}", finder.find))


def _moment(at: Any) -> str:
    """Return a moment that a database wrote, in ISO 8601 and UTC; empty if it is none."""
    try:
        found = datetime.fromisoformat(str(at))
        return found.replace(tzinfo=found.tzinfo or UTC).astimezone(UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError):  # databases know years that Python does not
        return ""


_AT_ONCE: Final = 4
"""How many tables are read at a time: most are small."""

Bounds = Callable[[TextTable], Sequence[Sequence[Any]]]
"""Returns the key of one row in many thousands of a table, in the order of keys."""


def no_bounds(table: TextTable) -> Sequence[Sequence[Any]]:
    """Return nothing, so that one task reads the whole table."""
    return ()


SearchRows = Callable[[TextTable, Iterable[Sequence[Any]]], SearchedRows]
"""Searches rows of a table. It runs in executors, so it is a function of a module."""


@dataclass(frozen=True, slots=True)
class TextDatabase:
    """
    A database whose text is searched.

    :param batches: returns the rows of a table as its query does, some at a time; it runs in the driver of the audit
    :param jdbc: where executors read it; None if they cannot
    :param unread: name of another table -> why it is not searched
    :param bounds: what divides a table for executors; it runs in the driver of the audit, where it costs no job
    """

    tables: Sequence[TextTable]
    batches: Callable[[TextTable], Iterator[list[Sequence[Any]]]] = field(repr=False)
    jdbc: JdbcDatabase | None = None
    unread: Mapping[str, str] = field(default_factory=dict)
    bounds: Bounds = field(default=no_bounds, repr=False)


def search_tables(session: SparkSession, database: TextDatabase, search: SearchRows) -> SearchedRows:
    """Search all tables: in executors that read them by JDBC or, if Spark lacks the driver, read by this process."""
    report = SearchedRows(unread={f"database:{name}": reason for name, reason in database.unread.items()})
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
                report.unread[f"database:{running[done].name}"] = f"It could not be read ({failure_name(error)})."
    return report


def _reader(
    session: SparkSession, database: TextDatabase, report: SearchedRows
) -> Callable[[TextTable], Iterator[Any]]:
    """Return what yields the rows of a table, some at a time, as data that is spread over the executors."""
    jdbc = database.jdbc
    if jdbc is not None and jdbc.has_driver(session):
        return partial(_by_jdbc, session, jdbc, database.bounds)
    if jdbc is not None:
        report.note = jdbc.driver.note
    return partial(_by_batches, session, database)


def _search_table(
    read: Callable[[TextTable], Iterator[Any]], table: TextTable, search: SearchRows, found: list[SearchedRows]
) -> None:
    for rows in read(table):
        kept = rows.context.accumulator([], _ListAccumulator())
        try:
            rows.foreachPartition(partial(_search_part, search, table, kept))
        finally:  # a task that fails does not take along what others have found
            found += kept.value


def _search_part(search: SearchRows, table: TextTable, kept: Any, rows: Iterable[Sequence[Any]]) -> None:
    kept.add([search(table, rows)])


class _ListAccumulator:
    """How an accumulator adds lists."""

    @staticmethod
    def zero(value: list[Any]) -> list[Any]:
        return []

    @staticmethod
    def addInPlace(value: list[Any], more: list[Any]) -> list[Any]:  # noqa: N802 - Spark calls it so
        value += more
        return value


def _by_jdbc(session: SparkSession, jdbc: JdbcDatabase, bounds: Bounds, table: TextTable) -> Iterator[Any]:
    parts = predicates(table.key, bounds(table)) if table.key else ()
    yield jdbc.read(session, table.query, parts).rdd


def _by_batches(session: SparkSession, database: TextDatabase, table: TextTable) -> Iterator[Any]:
    context = session.sparkContext
    for rows in database.batches(table):
        yield context.parallelize(rows, max(1, min(len(rows), context.defaultParallelism)))
