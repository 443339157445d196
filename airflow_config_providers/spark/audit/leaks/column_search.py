"""Searches the columns of a file for known values, cell by cell."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from airflow_config_providers.core.text import one_line
from airflow_config_providers.spark.audit.leaks.decompression import require_proportion
from airflow_config_providers.spark.audit.leaks.file_blocks import BLOCK
from airflow_config_providers.spark.audit.leaks.file_listing import Split
from airflow_config_providers.spark.audit.leaks.leak import FoundLeak, FoundSoFar, until_broken
from airflow_config_providers.spark.audit.leaks.leak_finder import Occurrence, without_values
from airflow_config_providers.spark.audit.leaks.parquet_file import ParquetFile, SomeRows
from airflow_config_providers.spark.audit.leaks.sought import OccurrenceFinder
from airflow_config_providers.spark.audit.leaks.text_cells import (
    TextCells,
    cells_of,
    distinct,
    joined,
    numbers_of,
    starts,
)

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
        yield from cells_of(name, chunk, first=first)
        first += len(chunk)


def _search_cells(cells: TextCells, finder: OccurrenceFinder, progress: FoundSoFar) -> None:
    """Search the texts of many cells at once, because that is fast, and then only cells with those that were found."""
    for first, values in cells.runs(BLOCK):
        progress.octets += values.nbytes
        texts = distinct(values)
        found = () if progress.is_full else list(finder.find(joined(texts)))
        for number in numbers_of(values, texts.take(_touched(found, starts(texts)))) if found else ():
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
