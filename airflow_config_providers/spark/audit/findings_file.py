"""Findings as a Parquet file, for other programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from io import BytesIO
from typing import Any, Final

from airflow_config_providers.core.text import is_unicode
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.spark.audit.report_file import replace_file, require_writable

_TEXT, _NUMBER, _TEXTS = "string", "int64", "list<string>"

LEAK: Final = {
    **dict.fromkeys(("file",), _TEXT),
    **dict.fromkeys(("offset", "line"), _NUMBER),
    **dict.fromkeys(("reference", "encoding", "age", "modified", "id"), _TEXT),
}
"""The columns of leaks, as their JSON has them."""

HISTORY: Final = {
    **dict.fromkeys(("kind", "dag", "task", "key", "detail"), _TEXT),
    "runs": _NUMBER,
    **dict.fromkeys(("first", "last"), _TEXT),
}
"""The columns of the history."""

POLICY: Final = {
    **dict.fromkeys(("policy", "dag", "owner"), _TEXT),
    "tasks": _TEXTS,
    "runs": _NUMBER,
    **dict.fromkeys(("first", "last", "reason"), _TEXT),
}
"""The columns of runs that policies would have stopped."""

REFERENCE: Final = {
    "reference": _TEXT,
    "finding": _TEXTS,
    **dict.fromkeys(("generations", "tasks", "runs"), _NUMBER),
    **dict.fromkeys(("dags", "owners", "older"), _TEXTS),
    **dict.fromkeys(("first", "last"), _TEXT),
}
"""The columns of uses of references."""


def require_places(report: str | None, parquet: str | None) -> None:
    """
    Check that the page and the Parquet file of an audit can be written, before it begins.

    :raises ConfigException: one cannot be written
    """
    require_writable(report, option="--report")
    require_writable(parquet, option="--output-parquet")


def write_findings(path: str, rows: Iterable[Mapping[str, Any]], columns: Mapping[str, str]) -> None:
    """
    Write rows as Parquet, also if there are none.

    :param columns: name -> type; what else a row has is left out
    :raises ConfigException: the file cannot be written, or pyarrow is not installed
    """
    try:
        import pyarrow as pa  # noqa: PLC0415 - slow to import, and it may be missing
        from pyarrow import parquet  # noqa: PLC0415 - as above
    except ImportError:
        missing = True
    else:
        missing = False
    if missing:
        raise ConfigException("--output-parquet needs pyarrow, which is not installed. Install the extra 'audit'.")
    types = {_TEXT: pa.string(), _NUMBER: pa.int64(), _TEXTS: pa.list_(pa.string())}
    schema = pa.schema([(name, types[kind]) for name, kind in columns.items()])
    content = BytesIO()
    found = [{name: _sound(row.get(name)) for name in columns} for row in rows]
    parquet.write_table(pa.Table.from_pylist(found, schema=schema), content, compression="zstd")
    replace_file(path, lambda file: file.write(content.getbuffer()), option="--output-parquet")


def _sound(cell: Any) -> Any:
    """Return a cell without halves of surrogate pairs, which names of files can have and Parquet cannot."""
    if isinstance(cell, (list, tuple)):
        return [_sound(one) for one in cell]
    if isinstance(cell, str) and not is_unicode(cell):
        return cell.encode(errors="backslashreplace").decode()
    return cell
