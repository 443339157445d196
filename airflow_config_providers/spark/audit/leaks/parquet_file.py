"""Parquet files, of which some rows at a time are read."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Self

from airflow_config_providers.core.text import octets
from airflow_config_providers.spark.audit.leaks.file_blocks import BLOCK
from airflow_config_providers.spark.audit.leaks.file_listing import Split
from airflow_config_providers.spark.audit.leaks.open_file import ContentError, OpenFile, reason
from airflow_config_providers.spark.audit.leaks.text_cells import has_text, most_text

_BUFFER: Final = 1024 * 1024
"""How many bytes of a column are read at a time."""

_MOST_ROWS: Final = 8192
"""The most rows that are decoded at a time."""

LARGEST_ROWS: Final = 256 * 1024 * 1024
"""How many bytes the rows that are decoded at a time have at most, unless one row has more."""

_FEW_ROWS: Final = 256
"""The most rows that are decoded at a time if it is not known how long their texts are."""

_FEW_COLUMNS: Final = 32
"""How many columns are decoded at a time if they have much: each can have two buffers, and a dictionary."""

_PROBED_FIRST: Final = 16
_PROBED: Final = 1024
"""How many rows are decoded to see dictionaries: the first number, and if those have little, the other."""


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
class SomeRows:
    """
    Rows that are in memory.

    :param table: a table of Arrow, with all or some of the columns that can have texts
    :param first: the number of its first row in the file, counted from 0
    :param before: how many columns with texts are before those of the table
    """

    table: Any = field(repr=False)
    first: int
    before: int


@dataclass(frozen=True)  # without slots, because its columns are asked for once
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

    def tables(self, group: RowGroup) -> Iterator[SomeRows]:
        """
        Yield the rows of a group, some at a time, with the columns that can have texts.

        Of a group with much in many columns, some columns are read after the other ones, because each has buffers.

        :raises ContentError: not all of them can be read; what can be was yielded
        """
        problem = ""
        try:
            sets = list(self._columns_at_once(group.number))
        except Exception as error:  # noqa: BLE001 - as above
            sets, problem = [], reason(error)
        for before, names in sets:
            try:
                for first, table in self._rows(group.number, names):
                    yield SomeRows(table, group.first + first, before)
            except Exception as error:  # noqa: BLE001 - as above
                problem = str(error) if isinstance(error, ContentError) else reason(error)
        if problem:
            raise ContentError(
                f"Its row group {group.number + 1} cannot be read, or not wholly: {problem.rstrip('.')}."
            )

    def _columns_at_once(self, number: int) -> Iterator[tuple[int, Sequence[str] | None]]:
        """Yield the names of some columns, after how many they are; None for all of them."""
        names = self._names
        if any("." in name for name in names) or len(set(names)) < len(names):  # a dot would mean a field
            yield 0, None
            return
        size = max(1, self._file.metadata.row_group(number).total_byte_size)
        most = max(_FEW_COLUMNS, len(names) * BLOCK // size)
        for place in range(0, len(names), most):
            yield place, names[place : place + most]

    def _rows(self, number: int, names: Sequence[str] | None) -> Iterator[tuple[int, Any]]:
        """Yield tables with some rows of a group, and the number of the first."""
        import pyarrow as pa  # noqa: PLC0415 - as above

        rows = self._rows_at_once(number, names)
        some, size, first = list[Any](), 0, 0
        for batch in self._file.iter_batches(rows, row_groups=[number], columns=names, use_threads=False):
            some.append(table := _decoded(pa.Table.from_batches([batch])))
            size += table.nbytes
            if size >= BLOCK:
                yield first, (table := pa.concat_tables(some).combine_chunks())
                some, size, first = [], 0, first + table.num_rows
        if some:
            yield first, pa.concat_tables(some).combine_chunks()

    def _rows_at_once(self, number: int, names: Sequence[str] | None) -> int:
        """Return how many rows are decoded at a time: a dictionary can make a few bytes of each a long text."""
        group, columns = self._file.metadata.row_group(number), max(1, len(self._file.schema_arrow))
        size = group.total_byte_size // max(1, group.num_rows)
        if names is not None:
            size = size * len(names) // columns  # as if all columns were equally large
        rows: int = max(1, min(_MOST_ROWS, BLOCK // max(1, size)))
        try:
            first = None
            for some in (_PROBED_FIRST, _PROBED):  # a row can be a list with a million of the same
                if not first or first.nbytes < BLOCK:
                    options = {"row_groups": [number], "columns": names, "use_threads": False}
                    first = next(self._with_dictionaries.iter_batches(min(some, rows), **options), None)
        except Exception:  # noqa: BLE001 - some encodings cannot be read so; what is broken is named when it is read
            return min(_FEW_ROWS, rows)
        if not first:
            return rows
        longest = sum(most for array in first for most in most_text(array)) // len(first)
        return int(max(1, min(rows, BLOCK * len(first) // max(1, first.nbytes), LARGEST_ROWS // max(1, longest))))

    @cached_property
    def _names(self) -> Sequence[str]:
        """The names of the columns that can have texts."""
        return [one.name for one in self._file.schema_arrow if has_text(one.type)]

    @cached_property
    def _with_dictionaries(self) -> Any:
        """The file as one in which all texts are in dictionaries; asking for it raises whatever pyarrow does."""
        schema = self._file.schema
        columns = [schema.column(place) for place in range(len(schema))]
        texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
        return _opened(self.source, self.size, read_dictionary=texts, metadata=self._file.metadata)


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
