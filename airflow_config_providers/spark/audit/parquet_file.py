"""Parquet files, of which some rows at a time are read."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

from airflow_config_providers.core.text import octets
from airflow_config_providers.spark.audit.content import BLOCK
from airflow_config_providers.spark.audit.files import Split
from airflow_config_providers.spark.audit.open_file import ContentError, OpenFile, reason
from airflow_config_providers.spark.audit.text_cells import has_text, most_text

_BUFFER: Final = 1024 * 1024
"""How many bytes of a column are read at a time."""

_MOST_ROWS: Final = 8192
"""The most rows that are decoded at a time."""

LARGEST: Final = 256 * 1024 * 1024
"""How many bytes the rows that are decoded at a time have at most, unless one row has more."""

_FEW_ROWS: Final = 256
"""The most rows that are decoded at a time if it is not known how long their texts are."""

_PROBED: Final = 1024
"""The rows that are decoded to see dictionaries."""


class _Seekable(io.RawIOBase):
    """An open file as Python's own, for pyarrow."""

    def __init__(self, source: OpenFile, size: int) -> None:
        super().__init__()
        self._source, self._size = source, size
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
    def open(cls, source: OpenFile, size: int) -> Self:
        """
        Read the footer of a file.

        :raises ContentError: the file is no Parquet, or is broken or encrypted, or pyarrow is missing
        """
        try:
            file = _opened(source, size)
        except ImportError:
            problem = "the package pyarrow is not installed there. Install the extra 'audit'"
        except Exception as error:  # noqa: BLE001 - pyarrow raises errors of many kinds, perhaps with what it read
            problem = str(error) if isinstance(error, ContentError) else reason(error)
        else:
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
        """
        Yield the row groups that belong to a split, as if all were equally large.

        Where they really begin is not asked for, because Arrow ends the process if that part of a footer is wrong.
        """
        metadata, first = self._file.metadata, 0
        for number in range(metadata.num_row_groups):
            start = self.size * number // metadata.num_row_groups
            if split.end is None or split.begin <= start < split.end:
                yield RowGroup(number, first)
            first += metadata.row_group(number).num_rows

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
        group = self._file.metadata.row_group(number)
        size = group.total_byte_size // max(1, group.num_rows)
        rows: int = max(1, min(_MOST_ROWS, BLOCK // max(1, size)))
        try:
            first = self._first_rows(number, names, min(_PROBED, rows))
        except Exception:  # noqa: BLE001 - some encodings cannot be read so; what is broken is named when it is read
            return min(_FEW_ROWS, rows)
        if not first:
            return rows
        longest = sum(most for array in first for most in most_text(array)) // len(first)
        return int(max(1, min(rows, BLOCK * len(first) // max(1, first.nbytes), LARGEST // max(1, longest))))

    def _first_rows(self, number: int, names: Sequence[str] | None, rows: int) -> Any:
        """Return the first rows of a group, in which all texts are in dictionaries; None if there are none."""
        schema = self._file.schema
        columns = [schema.column(place) for place in range(len(schema))]
        texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
        file = _opened(self.source, self.size, read_dictionary=texts, metadata=self._file.metadata)
        return next(file.iter_batches(rows, row_groups=[number], columns=names, use_threads=False), None)


def _opened(source: OpenFile, size: int, **options: Any) -> Any:
    from pyarrow import parquet  # noqa: PLC0415 - only such files need it

    return parquet.ParquetFile(_Seekable(source, size), buffer_size=_BUFFER, pre_buffer=False, **options)


def _decoded(table: Any) -> Any:
    """Return a table without columns that are dictionaries in memory, too: they can be far larger than they say."""
    from pyarrow import types  # noqa: PLC0415 - as above

    for place, one in enumerate(table.schema):
        if types.is_dictionary(one.type):
            table = table.set_column(place, one.name, table.column(place).cast(one.type.value_type))
    return table
