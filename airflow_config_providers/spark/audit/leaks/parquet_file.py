"""Searches Parquet files: some of their rows at a time, and the texts in these, whatever is nested in them."""

from __future__ import annotations

import io
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any, Final, Self

from airflow_config_providers.core.text import octets, one_line
from airflow_config_providers.lazy import LazyModule
from airflow_config_providers.spark.audit.leaks.decompression import require_proportion
from airflow_config_providers.spark.audit.leaks.file_blocks import BLOCK
from airflow_config_providers.spark.audit.leaks.file_listing import Split
from airflow_config_providers.spark.audit.leaks.leak import FoundLeak, FoundSoFar, until_broken
from airflow_config_providers.spark.audit.leaks.leak_finder import Occurrence, without_values
from airflow_config_providers.spark.audit.leaks.open_file import ContentError, OpenFile, reason
from airflow_config_providers.spark.audit.leaks.sought import OccurrenceFinder

pa, compute, parquet, types = (
    LazyModule(name) for name in ("pyarrow", "pyarrow.compute", "pyarrow.parquet", "pyarrow.types")
)  # only files with columns need it

_SAMPLE: Final = 256
"""How many values are looked at to see whether many are the same."""

_BETWEEN: Final = b"\0\n"
"""No value goes on after it, and the search looks for some encodings line by line, so that there must be lines."""


@dataclass(frozen=True, slots=True)
class TextCells:
    """
    The texts of a column, or of one field in it.

    :param column: its name; a field has those of the fields around it before its own, as in ``user.name``
    :param values: an array of bytes, with nothing in place of null
    :param first: the number of the first row
    :param rows: an array with the row of each value, from the first, in ascending order; None if each row has one value
    """

    column: str
    values: Any
    first: int = 0
    rows: Any = None

    @classmethod
    def of(cls, column: str, values: Any, *, first: int, rows: Any) -> Self:
        """Return the cells with texts of whatever type of Arrow."""
        return cls(column, values.cast(pa.large_binary()).fill_null(b""), first, rows)

    def runs(self, most: int) -> Iterator[tuple[int, Any]]:
        """Yield some values at a time, with about ``most`` bytes unless one has more, and the number of the first."""
        pending = [(0, self.values)]
        while pending:
            first, some = pending.pop()
            if len(some) > 1 and some.nbytes > 2 * most:
                middle = len(some) // 2
                pending += (first + middle, some.slice(middle)), (first, some.slice(0, middle))
            elif len(some):
                yield first, some

    def place(self, number: int) -> tuple[int, str]:
        """Return the row of a value, and its column, with the number of the value if a row can have several."""
        if self.rows is None:
            return self.first + number, self.column
        row: int = self.rows[number].as_py()
        first: int = compute.index(self.rows, row).as_py()
        return self.first + row, f"{self.column}[{number - first}]"


def joined(values: Any) -> bytes:
    """Return an array of bytes as one, with something between each two."""
    together = pa.LargeListArray.from_arrays(pa.array([0, len(values)], pa.int64()), values)
    found: bytes = compute.binary_join(together, pa.scalar(_BETWEEN, pa.large_binary()))[0].as_py()
    return found


def starts(values: Any) -> Sequence[int]:
    """Return where each value begins in what ``joined`` returns."""
    sizes = compute.binary_length(values).to_pylist()
    return list(accumulate((size + len(_BETWEEN) for size in sizes), initial=0))[:-1]


def distinct(values: Any) -> Any:
    """Return each of the values once if there seem to be few, as in most columns; otherwise all, which is faster."""
    sample = values.slice(0, _SAMPLE)
    return values if len(sample.unique()) * 2 > len(sample) else values.unique()


def _numbers_of(values: Any, some: Any) -> Iterator[int]:
    """Yield where in an array of values is one of ``some``."""
    return (number for number, hit in enumerate(compute.is_in(values, value_set=some).to_pylist()) if hit)


def has_text(kind: Any) -> bool:
    """Return whether a type of Arrow can have texts. Numbers, moments, and what only consists of these, cannot."""
    if types.is_struct(kind):
        return any(has_text(kind.field(place).type) for place in range(kind.num_fields))
    if types.is_map(kind):
        return has_text(kind.key_type) or has_text(kind.item_type)
    inner = getattr(kind, "storage_type", None) or getattr(kind, "value_type", None)
    if inner is not None:
        return has_text(inner)
    return not (types.is_primitive(kind) or types.is_decimal(kind) or types.is_null(kind) or types.is_interval(kind))


def _cells_of(column: str, array: Any, *, first: int = 0, rows: Any = None) -> Iterator[TextCells]:
    """
    Yield the texts of a column.

    :param array: not chunked
    :param first: as that of ``TextCells``
    :param rows: as that of ``TextCells``
    :raises Exception: whatever pyarrow raises for a type that cannot be read as text, or is nested too deeply
    """
    if has_text(array.type):
        for name, inner, of in _inner(column, array, rows):
            if inner is array:
                yield TextCells.of(name, array, first=first, rows=of)
            else:
                yield from _cells_of(name, inner, first=first, rows=of)


def most_text(array: Any) -> Iterator[int]:
    """Yield how many bytes of text an array has if all values are the longest of their dictionary, for each one."""
    if not has_text(array.type):
        return
    if not types.is_dictionary(array.type):
        for _, inner, _ in _inner("", array, None):
            yield from () if inner is array else most_text(inner)
    elif len(array.dictionary):
        yield compute.max(compute.binary_length(array.dictionary)).as_py() * len(array)


_Inner = tuple[str, Any, Any]


def _inner(column: str, array: Any, rows: Any) -> Iterator[_Inner]:
    """Yield what is directly inside an array, with its name and rows; the array itself if it is not nested."""
    kind = array.type
    if hasattr(kind, "storage_type"):
        yield column, array.storage, rows
    elif types.is_struct(kind):
        for place, inner in enumerate(array.flatten()):
            yield f"{column}.{kind.field(place).name}", inner, rows
    elif types.is_map(kind):
        pairs = pa.struct([("key", kind.key_type), ("value", kind.item_type)])
        yield column, array.cast(pa.list_(pairs)), rows  # Arrow ends the process if it flattens a map
    elif types.is_dictionary(kind):
        yield column, array.dictionary_decode(), rows
    elif types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        yield _of_list(column, array, rows)
    elif types.is_list_view(kind) or types.is_large_list_view(kind):  # of which Arrow has no parents
        yield column, array.cast(pa.large_list(kind.value_type)), rows
    else:
        yield column, array, rows


def _of_list(column: str, array: Any, rows: Any) -> _Inner:
    parents = compute.list_parent_indices(array)
    return column, compute.list_flatten(array), parents if rows is None else rows.take(parents)


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
    return parquet.ParquetFile(_Seekable(source, size), buffer_size=_BUFFER, pre_buffer=False, **options)


def _decoded(table: Any) -> Any:
    """Return a table without columns that are dictionaries in memory, too: they can be far larger than they say."""
    for place, one in enumerate(table.schema):
        if types.is_dictionary(one.type):
            table = table.set_column(place, one.name, table.column(place).cast(one.type.value_type))
    return table


METADATA: Final = "(metadata)"
"""What the column of a leak is called that is in no column, but in the metadata of the file. Its line is 0."""


def search_columns(file: ParquetFile, split: Split, finder: OccurrenceFinder, progress: FoundSoFar) -> bool:
    """
    Add to ``progress`` what is found in the row groups of a split, and in the metadata if it is the first.

    :return: False if no rows can be read, though there are some
    :raises ContentError: the file has an almost endless content
    """
    if split.begin == 0:
        _search_metadata(file, finder, progress)
    have_rows = False
    for group in file.groups(split):
        for rows in until_broken(file.tables(group), progress.note_of_part):
            have_rows = True
            for cells in _cells(rows, progress):
                _search_cells(cells, finder, progress)
                require_proportion(progress.octets, file.size)
    return have_rows or not progress.problems


def _search_metadata(file: ParquetFile, finder: OccurrenceFinder, progress: FoundSoFar) -> None:
    content = b"\0".join(file.texts())
    progress.octets += len(content)
    _add(finder.find(content), progress, -1, METADATA)


def _cells(rows: SomeRows, progress: FoundSoFar) -> Iterator[TextCells]:
    """Yield the texts of all columns, and keep which column cannot be read as text. It may have a telling name."""
    named = zip(rows.table.schema.names, rows.table.columns, strict=True)
    for number, (name, column) in enumerate(named, rows.before + 1):
        try:
            yield from _of_column(name, column, rows.first)
        except Exception as error:  # noqa: BLE001 - pyarrow raises errors of many kinds, perhaps with what it read
            problem = f"Column {number} of those with text could not be searched ({type(error).__name__})."
            progress.note_of_part(problem)


def _of_column(name: str, column: Any, first: int) -> Iterator[TextCells]:
    for chunk in column.chunks:
        yield from _cells_of(name, chunk, first=first)
        first += len(chunk)


def _search_cells(cells: TextCells, finder: OccurrenceFinder, progress: FoundSoFar) -> None:
    """Search the texts of many cells at once, because that is fast, and then only cells with those that were found."""
    for first, values in cells.runs(BLOCK):
        progress.octets += values.nbytes
        texts = distinct(values)
        found = () if progress.is_full else list(finder.find(joined(texts)))
        for number in _numbers_of(values, texts.take(_touched(found, starts(texts)))) if found else ():
            row, column = cells.place(first + number)
            _add(finder.find(values[number].as_py()), progress, row, one_line(without_values(column, finder.find)))
            if progress.is_full:
                break


def _touched(found: Iterable[Occurrence], starts: Sequence[int]) -> Sequence[int]:
    """Return the numbers of the texts, in order, in which something was found, perhaps only across two of them."""
    ranges = ((bisect_right(starts, one.start) - 1, bisect_right(starts, one.end - 1)) for one in found)
    return sorted({number for first, after in ranges for number in range(first, after)})


def _add(found: Iterable[Occurrence], progress: FoundSoFar, row: int, column: str) -> None:
    for one in found:
        if progress.is_full:
            return
        progress.leaks.append(FoundLeak(one, row, column))
