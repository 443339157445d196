"""The files of an audit: a page for people, and Parquet for programs. A reader sees the old one or the new one."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Final

from airflow_config_providers.core.entry_points import installed
from airflow_config_providers.core.named_file import whole_file
from airflow_config_providers.core.text import is_unicode, printable
from airflow_config_providers.exceptions import ConfigException, system_reason, translating


def require_writable(path: str | None, *, option: str, beginning: bytes = b"") -> None:
    """
    Check that a file can be written, before an audit that takes hours; None is no file.

    :param option: the option that names the file, for the message
    :param beginning: what every file of its kind begins with; no other one that is there is replaced, such as a log
    :raises ConfigException: its folder is missing or closed, it is a folder itself, or a file of another kind
    """
    if path and (problem := _obstacle(Path(os.path.realpath(path)), beginning)):
        raise _unwritable(path, problem, option)


def _obstacle(target: Path, beginning: bytes) -> str:
    """Return why a file cannot be written; empty if it probably can."""
    if target.is_dir():
        return os.strerror(errno.EISDIR)
    if not target.parent.is_dir():
        return os.strerror(errno.ENOENT)
    written = target.parent if target.is_file() or not target.exists() else target
    if not os.access(written, os.W_OK):
        return os.strerror(errno.EACCES)
    return "" if not target.is_file() or _begins(target, beginning) else "A file of another kind is there"


def _begins(target: Path, beginning: bytes) -> bool:
    """Return whether a file is empty, or begins with ``beginning``; also if it cannot be read."""
    try:
        with target.open("rb") as file:
            return file.read(len(beginning)) in {b"", beginning}
    except OSError:
        return True


def write_page(path: str, html: str) -> None:
    """
    Write a page for people, with the rights of any new file.

    :raises ConfigException: the file cannot be written
    """
    replace_file(path, lambda file: file.write(html.encode(errors="backslashreplace")), option="--report")


def replace_file(path: str, write: Callable[[BinaryIO], object], *, option: str) -> None:
    """
    Write a file beside the old one, and put it in its place. What is no plain file, such as a pipe, is written to.

    :param option: the option that names the file, for the message
    :raises ConfigException: the file cannot be written
    """
    target = Path(os.path.realpath(path))
    with translating(OSError, lambda error: _unwritable(path, system_reason(error), option)):
        is_special = target.exists() and not target.is_file()
        with target.open("wb") if is_special else whole_file(target) as file:
            write(file)


def _unwritable(path: str, problem: str, option: str) -> ConfigException:
    return ConfigException(f"{option} {printable(path)} cannot be written: {problem}. Name another file.")


_PAGE, _PARQUET = b"<!doctype html>", b"PAR1"
"""What the files of an audit begin with."""

_TEXT, _NUMBER, _TEXTS, _FLAG = "string", "int64", "list<string>", "bool"

LEAK: Final = {
    "file": _TEXT,
    **dict.fromkeys(("offset", "line"), _NUMBER),
    **dict.fromkeys(("reference", "encoding", "age", "modified", "id", "fingerprint", "column"), _TEXT),
}
"""The columns of leaks, as their JSON has them."""

HISTORY: Final = {
    **dict.fromkeys(("kind", "dag", "task", "key", "detail"), _TEXT),
    "runs": _NUMBER,
    **dict.fromkeys(("first", "last"), _TEXT),
}
"""The columns of the history."""

POLICY: Final = {
    **dict.fromkeys(("policy", "dag", "owner", "task", "enforcement"), _TEXT),
    "runs": _NUMBER,
    **dict.fromkeys(("first", "last", "reason"), _TEXT),
}
"""The columns of runs that policies would have stopped, or of which they would have warned."""

REFERENCE: Final = {
    "reference": _TEXT,
    "finding": _TEXTS,
    **dict.fromkeys(("generations", "tasks", "runs"), _NUMBER),
    **dict.fromkeys(("dags", "owners", "older"), _TEXTS),
    **dict.fromkeys(("first", "last"), _TEXT),
}
"""The columns of uses of references."""


REFERENCE_RUN: Final = {
    **dict.fromkeys(("reference", "dag", "task"), _TEXT),
    "map_index": _NUMBER,
    "run": _TEXT,
    "try": _NUMBER,
    **dict.fromkeys(("at", "hash"), _TEXT),
    "refused": _FLAG,
}
"""The columns of tries that used references."""


def require_places(report: str | None, parquet: str | None) -> None:
    """
    Check that the page and the Parquet file of an audit can be written, before it begins.

    :raises ConfigException: one cannot be written
    """
    require_writable(report, option="--report", beginning=_PAGE)
    require_writable(parquet, option="--output-parquet", beginning=_PARQUET)


_NO_PYARROW: Final = "--output-parquet needs pyarrow, which is not installed. Install the extra 'audit'."


def write_findings(path: str, rows: Iterable[Mapping[str, Any]], columns: Mapping[str, str]) -> None:
    """
    Write rows as Parquet, also if there are none.

    :param columns: name -> type; what else a row has is left out
    :raises ConfigException: the file cannot be written, or pyarrow is not installed
    """
    pa, parquet = (installed(name, _NO_PYARROW) for name in ("pyarrow", "pyarrow.parquet"))
    types = {_TEXT: pa.string(), _NUMBER: pa.int64(), _TEXTS: pa.list_(pa.string()), _FLAG: pa.bool_()}
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
