"""Parquet files, of which some rows at a time are read."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

from airflow_config_providers.core.text import octets
from airflow_config_providers.spark.audit.content import BLOCK
from airflow_config_providers.spark.audit.files import Split
from airflow_config_providers.spark.audit.open_file import ContentError, OpenFile, reason
from airflow_config_providers.spark.audit.text_cells import has_text, longest_in_dictionaries

_BUFFER: Final = 1024 * 1024
"""How many bytes of a column are read at a time."""

_MOST_ROWS: Final = 8192
"""The most rows that are decoded at a time."""

LARGEST: Final = 256 * 1024 * 1024
"""How many bytes the rows that are decoded at a time have at most, unless one row has more."""

_MOST_VALUES: Final = 100_000_000
"""The most values of a repeated field in a row group: all of them can be in one row, at a few bytes in the file."""

_OF_VALUE: Final = 16
"""How many bytes a value of a repeated field takes in memory, even if it is empty."""

_PROBED: Final = 1024
"""The rows that are decoded to see dictionaries."""

_HEADER: Final = 32
"""More bytes than are read of the header of a page."""

_TAIL: Final = 8
"""The bytes after the footer: its length, and four characters."""

_DICTIONARY: Final = 2


class _Seekable(io.RawIOBase):
    """An open file as Python's own, for pyarrow."""

    def __init__(self, source: OpenFile, size: int, tick: Callable[[int], None]) -> None:
        super().__init__()
        self._source, self._size, self._tick = source, size, tick
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        begin = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = begin + offset
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        rest = max(0, self._size - self._at)
        data = self._source.read(self._at, rest if size is None or size < 0 else min(size, rest))
        self._at += len(data)
        self._tick(len(data))
        return data


@dataclass(frozen=True, slots=True)
class RowGroup:
    """
    Rows of a Parquet file that are stored together.

    :param number: counted from 0
    :param first: the number of its first row in the file, counted from 0
    """

    number: int
    first: int


@dataclass(frozen=True, slots=True)
class ParquetFile:
    """
    An open Parquet file.

    :param size: in bytes
    """

    source: OpenFile
    size: int
    _file: Any = field(repr=False)

    @classmethod
    def open(cls, source: OpenFile, size: int, tick: Callable[[int], None]) -> Self:
        """
        Read the footer of a file.

        :param tick: is told how many bytes were read
        :raises ContentError: the file is no Parquet, or is broken or encrypted, or pyarrow is missing
        """
        try:
            file = _opened(source, size, tick)
            problem = "it is encrypted" if _is_signed(source, size, file.metadata) else ""
        except ImportError:
            problem = "the package pyarrow is not installed there. Install the extra 'audit'"
        except Exception as error:  # noqa: BLE001 - pyarrow raises errors of many kinds, perhaps with what it read
            problem = str(error) if isinstance(error, ContentError) else reason(error)
        if not problem:
            return cls(source, size, file)
        raise ContentError(f"It cannot be read as Parquet: {problem.rstrip('.')}.")

    def texts(self) -> Iterator[bytes]:
        """Yield what the footer has apart from rows: the program that wrote it, its metadata, and the columns."""
        metadata = self._file.metadata
        yield octets(metadata.created_by or "")
        for name, value in (metadata.metadata or {}).items():
            yield from (name, value)
        for place in range(metadata.num_columns):
            yield octets(metadata.schema.column(place).path)

    def groups(self, split: Split) -> Iterator[RowGroup]:
        """Yield the row groups that begin in a split. Each begins in one, even if the footer is wrong."""
        metadata, first = self._file.metadata, 0
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            start = min(max(0, _start(group)), self.size - 1)
            if split.end is None or split.begin <= start < split.end:
                yield RowGroup(number, first)
            first += group.num_rows

    def tables(self, group: RowGroup) -> Iterator[Any]:
        """
        Yield the rows of a group, some at a time, as tables of Arrow with the columns that can have texts.

        :raises ContentError: not all of them can be read
        """
        try:
            yield from self._tables(group.number)
        except ContentError:
            raise
        except Exception as error:  # noqa: BLE001 - as above
            problem = reason(error)
        else:
            return
        raise ContentError(f"Its row group {group.number + 1} cannot be read, or not wholly: {problem}.")

    def _tables(self, number: int) -> Iterator[Any]:
        import pyarrow as pa  # noqa: PLC0415 - as above

        names = [one.name for one in self._file.schema_arrow if has_text(one.type)]
        if not names:
            return
        columns = None if any("." in name for name in names) else names  # a dot would mean a field
        rows = self._rows_at_once(number, columns)
        some, size = list[Any](), 0
        for batch in self._file.iter_batches(rows, row_groups=[number], columns=columns, use_threads=False):
            some.append(table := _decoded(pa.Table.from_batches([batch])))
            size += table.nbytes
            if size >= BLOCK:
                yield pa.concat_tables(some).combine_chunks()
                some, size = [], 0
        if some:
            yield pa.concat_tables(some).combine_chunks()

    def _rows_at_once(self, number: int, names: Sequence[str] | None) -> int:
        """Return how many rows are decoded at a time: a dictionary can make a few bytes of each a long text."""
        group, schema = self._file.metadata.row_group(number), self._file.schema
        columns = [(group.column(place), schema.column(place)) for place in range(group.num_columns)]
        values = max((column.num_values for column, known in columns if known.max_repetition_level), default=0)
        if values > _MOST_VALUES:
            raise ContentError(f"Its row group {number + 1} was not searched: it has {values:,} values in one field.")
        size = max(1, group.total_byte_size, values * _OF_VALUE) // max(1, group.num_rows)
        rows: int = min(_MOST_ROWS, BLOCK // max(1, size))
        sizes = {known.path: size for column, known in columns if (size := self._dictionary_size(column))}
        if rows * sum(sizes.values()) > LARGEST:
            rows = min(rows, LARGEST // self._longest_row(number, names, sizes))
        return max(1, rows)

    def _dictionary_size(self, column: Any) -> int:
        """Return the size of the dictionary of texts that a column begins with; 0 if there is none."""
        if column.physical_type != "BYTE_ARRAY":
            return 0
        return dictionary_size(self.source.read(max(0, _column_start(column)), _HEADER))

    def _longest_row(self, number: int, names: Sequence[str] | None, sizes: Mapping[str, int]) -> int:
        """Return how many bytes a row has if it has the longest text of each dictionary, or all of one not seen."""
        file = _opened(self.source, self.size, read_dictionary=list(sizes), metadata=self._file.metadata)
        batches = file.iter_batches(_PROBED, row_groups=[number], columns=names, use_threads=False)
        found = [longest for array in next(batches, ()) for longest in longest_in_dictionaries(array)]
        return sum(found) + sum(sorted(sizes.values())[len(found) :]) + 1


def _opened(source: OpenFile, size: int, tick: Callable[[int], None] = lambda octets: None, **options: Any) -> Any:
    from pyarrow import parquet  # noqa: PLC0415 - only such files need it

    return parquet.ParquetFile(_Seekable(source, size, tick), buffer_size=_BUFFER, pre_buffer=False, **options)


def _is_signed(source: OpenFile, size: int, metadata: Any) -> bool:
    """
    Return whether the footer is longer than its metadata: a signature follows if columns are encrypted.

    Arrow ends the process if it is asked for the metadata of such a column.
    """
    length = int.from_bytes(source.read(size - _TAIL, _TAIL)[:4], "little")
    return bool(length != metadata.serialized_size)


def _decoded(table: Any) -> Any:
    """Return a table without columns that are dictionaries in memory, too: they can be far larger than they say."""
    from pyarrow import types  # noqa: PLC0415 - as above

    for place, one in enumerate(table.schema):
        if types.is_dictionary(one.type):
            table = table.set_column(place, one.name, table.column(place).cast(one.type.value_type))
    return table


def _start(group: Any) -> int:
    return _column_start(group.column(0)) if group.num_columns else 0


def _column_start(column: Any) -> int:
    start: int = column.dictionary_page_offset or column.data_page_offset
    return start


def dictionary_size(header: bytes) -> int:
    """
    Return the size of the content of a page, if that is a dictionary; 0 if it is none.

    The header of a page begins with two fields in Thrift's compact encoding: the kind of the page, and the size.
    """
    kind, after = _number(header, 0)
    size, _ = _number(header, after)
    return size if kind == _DICTIONARY else 0


def _number(header: bytes, at: int) -> tuple[int, int]:
    """Return the number in the field that begins ``at`` an offset, and where the next one begins; 0 if it is broken."""
    number = 0
    if header[at : at + 1] != b"\x15":  # the next field, and a number
        return 0, len(header)
    for place, octet in enumerate(header[at + 1 : at + 6]):
        number |= (octet & 0x7F) << 7 * place
        if octet < 0x80:
            return number >> 1, at + place + 2
    return 0, len(header)
