"""The texts in arrays of Arrow, whatever is nested in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final, Self

from airflow_config_providers.lazy import LazyModule

pa, compute, types = map(LazyModule, ("pyarrow", "pyarrow.compute", "pyarrow.types"))  # only files with columns need it

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


def numbers_of(values: Any, some: Any) -> Iterator[int]:
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


def cells_of(column: str, array: Any, *, first: int = 0, rows: Any = None) -> Iterator[TextCells]:
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
                yield from cells_of(name, inner, first=first, rows=of)


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
