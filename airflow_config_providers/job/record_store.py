"""Where records of tries are kept: in Airflow's task state store or XCom, in parts, or in files."""

from __future__ import annotations

import base64
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import quote

from airflow_config_providers.core.document import loaded
from airflow_config_providers.core.text import octets
from airflow_config_providers.exceptions import ConfigException, LimitExceededError, ProviderUnavailableError
from airflow_config_providers.job.record import LARGEST, TaskTry, TryRecord, parsed, written
from airflow_config_providers.providers.real_path import open_real, real_path, steps
from airflow_config_providers.spark.whole_file import whole_file

PREFIX: Final = "config_providers_record"
"""The beginning of the keys of all entries of records, in the task's state or in its XComs."""

FIRST_KEY: Final = rf"{PREFIX}_([1-9][0-9]{{0,8}})"
"""The pattern of the key of a first entry, with which a record exists; its group is the number of the try."""

ANY_KEY: Final = rf"{FIRST_KEY}(?:_job|_part(?:[2-9]|[1-9][0-9]|1[0-9]{{2}}|200))?"
"""The pattern of the keys of all entries, in which Python and Java see the same."""

_PART: Final = 60_000
"""The most characters of data in an entry. Airflow warns above 65,535 bytes, by default."""

_MOST_PARTS: Final = 200

_EXTERNAL: Final = "__airflow_state_ref__"
"""What Airflow stores in place of an entry that a custom backend of the workers keeps."""

LARGEST_ENTRY: Final = 2 * _PART
"""The most characters of JSON in an entry that is read: those of tasks are shorter, however they are spaced."""


def record_key(try_number: int) -> str:
    """Return the key of the first entry of a record."""
    return f"{PREFIX}_{try_number}"


def job_key(try_number: int) -> str:
    """Return the key of the entry with the external id of the job, which is known later than the rest."""
    return f"{PREFIX}_{try_number}_job"


def keys_of(try_number: int) -> list[str]:
    """Return the keys of all entries that the record of a try can have."""
    key = record_key(try_number)
    return [key, job_key(try_number), *(_part_key(key, number) for number in range(2, _MOST_PARTS + 1))]


def _part_key(key: str, number: int) -> str:
    return f"{key}_part{number}"


def tries_of(keys: Any) -> list[int]:
    """Return the numbers of the tries of which ``keys`` has records, the last one first."""
    found = (re.fullmatch(FIRST_KEY, key) for key in keys)
    return sorted({int(match[1]) for match in found if match}, reverse=True)


def packed(record: TryRecord) -> dict[str, Any]:
    """
    Return key -> entry, in the order in which to write them: the first part, which makes the record exist, is last.

    :raises LimitExceededError: the record is too large
    """
    data = base64.b64encode(zlib.compress(written(record))).decode()
    parts = [data[start : start + _PART] for start in range(0, len(data), _PART)]
    if len(parts) > _MOST_PARTS:
        raise LimitExceededError(f"Compressed, the record has more than {_MOST_PARTS * _PART} characters.")
    key = record_key(record.task.try_number)
    rest = {_part_key(key, number): part for number, part in enumerate(parts[1:], 2)}
    return {**rest, key: {"format": record.format, "parts": len(parts), "data": parts[0]}}


def unpacked(entries: Mapping[str, Any], task: TaskTry) -> TryRecord | None:
    """Return the record of ``task`` in ``entries``, which others could have written; None if there is none."""
    record = TryRecord.read(_document(entries, record_key(task.try_number)), task)
    job = entries.get(job_key(task.try_number))
    return replace(record, job=job) if record is not None and isinstance(job, str) else record


def first_record(stores: Iterable[Mapping[str, Any]], task: TaskTry) -> TryRecord | None:
    """
    Return the record of ``task`` in the first store that has one; None if there is none.

    :param stores: the entries of each, in which a key has what JSON says
    :raises ConfigException: a custom backend of the workers keeps the record
    """
    for entries in stores:
        _refuse_external(entries)
        if (record := unpacked(entries, task)) is not None:
            return record
    return None


def entry_of(text: str | None) -> Any:
    """Return the entry that ``text`` is in JSON; None if it is none, because a task can store anything there."""
    return loaded(text or "")


def _refuse_external(entries: Mapping[str, Any]) -> None:
    if any(isinstance(entry, dict) and _EXTERNAL in entry for entry in entries.values()):
        raise ConfigException(
            "The record is in the [workers] state_store_backend, which is read only in tasks. To see the records of "
            "later tries, set [config_providers] records_path."
        )


def _document(entries: Mapping[str, Any], key: str) -> Any:
    first = entries.get(key)
    if not isinstance(first, dict) or type(first.get("parts")) is not int or not 0 < first["parts"] <= _MOST_PARTS:
        return None
    rest = (entries.get(_part_key(key, number)) for number in range(2, first["parts"] + 1))
    parts = [part for part in (first.get("data"), *rest) if isinstance(part, str)]
    return _opened("".join(parts)) if len(parts) == first["parts"] else None


def _opened(data: str) -> Any:
    opener = zlib.decompressobj()
    try:
        text = opener.decompress(base64.b64decode(data, validate=True), LARGEST)
    except (ValueError, zlib.error):  # another try has overwritten a part, or it is not ours
        return None
    return parsed(text) if opener.eof else None


_LONGEST_NAME: Final = 160
"""The most characters of a name in a path: file systems allow 255 bytes for the whole name of a file."""

_KEPT: Final = 100
"""How many characters of a longer name are kept, before a plus, which no quoted name has, and a hash of the whole."""

_NO_TASK: Final = TaskTry("", "", "")
"""The task of a record of which only the content matters."""

_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True)
class RecordFiles:
    """
    The files of records below a folder, with one line of JSON each.

    :param path: the ``records_path`` of the deployment
    """

    path: str

    def write(self, record: TryRecord) -> None:
        """Write a record, in place of an earlier one of the same try. Readers never see a part of it."""
        target = self._root() / f"day={record.at[:10]}" / place_of(record.task)
        target.parent.mkdir(parents=True, exist_ok=True)
        content = written(record) + b"\n"
        if not _is_local(target):  # a store of objects shows an object only when it is whole
            target.write_bytes(content)
            return
        with whole_file(Path(target.path)) as file:
            file.write(content)

    def read(self, task: TaskTry) -> TryRecord | None:
        """
        Return the record of a try; None if there is none.

        :raises ProviderUnavailableError: the files cannot be read now
        """
        name = place_of(task).rpartition("/")[2]
        return TryRecord.read(parsed(self._reading(lambda: self._last(task, name))), task)

    def tries(self, task: TaskTry) -> list[int]:
        """
        Return the numbers of the tries of a task instance that have a record, the last one first.

        :raises ProviderUnavailableError: the files cannot be read now
        """
        found = self._reading(lambda: [str(path.name) for path in self._files(task)])
        numbers = (name.removesuffix(".jsonl").removeprefix(_beginning(task)) for name in found)
        return sorted({int(number) for number in numbers if number.isascii() and number.isdigit()}, reverse=True)

    def references(self) -> Iterator[str]:
        """
        Yield the references of all records, several times if several records have them.

        :raises ProviderUnavailableError: the files cannot be read
        """
        for path in self._reading(lambda: list(self._root().glob("day=*/dag=*/task=*/*.jsonl"))):
            content = self._reading(partial(self._content, path))
            if (record := TryRecord.read(parsed(content), _NO_TASK)) is not None:
                yield from record.references

    def _last(self, task: TaskTry, name: str) -> bytes:
        """Return the content of the last file of this name among those of a task; empty if there is none."""
        return next((self._content(path) for path in self._files(task) if path.name == name), b"")

    def _files(self, task: TaskTry) -> Iterator[Any]:
        """Yield the files of a task, those of the last day first. A pattern would list those of all tasks."""
        days = [path for path in _inside(self._root()) if path.name.startswith("day=")]
        for day in sorted(days, key=str, reverse=True):
            yield from _inside(day / _below(task))

    def _content(self, path: Any) -> bytes:
        """Return the content of a file; empty if it is too large to be a record, or no file below the folder."""
        if _is_local(path):
            return _local_content(path.path, self._root().path)
        return bytes(path.read_bytes()) if path.stat().st_size <= LARGEST else b""

    def _root(self) -> Any:
        from airflow.sdk import ObjectStoragePath  # noqa: PLC0415 - slow to import, and few need it

        return ObjectStoragePath(self.path)

    def _reading(self, read: Callable[[], _Found]) -> _Found:
        try:
            return read()
        except Exception as error:  # noqa: BLE001 - a client of a store can raise anything, with an address in its text
            problem = type(error).__name__
        raise ProviderUnavailableError(
            f"The records in [config_providers] records_path cannot be read ({problem}). Correct the path or its "
            f"connection, or try again later."
        )


def place_of(task: TaskTry) -> str:
    """Return the path of the file of a try, below the folder of its day."""
    return f"{_below(task)}/{_beginning(task)}{task.try_number}.jsonl"


def _inside(folder: Any) -> list[Any]:
    """Return what is in a folder; nothing if there is none. Whether it exists is not asked: that hides other errors."""
    try:
        return list(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def _is_local(path: Any) -> bool:
    return path.protocol in {"", "file", "local"}


def _local_content(path: str, root: str) -> bytes:
    """Return the content of a regular file below ``root``: a task can put a pipe, a device or a link there."""
    top = steps(os.path.realpath(root))
    real = real_path(steps(os.path.relpath(path, root)), [top], below=top)
    if real is None:
        return b""
    with open_real(real, is_kind=stat.S_ISREG) as descriptor:
        if descriptor is None or os.fstat(descriptor).st_size > LARGEST:
            return b""
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(LARGEST)


def _below(task: TaskTry) -> str:
    return f"dag={_safe(task.dag_id)}/task={_safe(task.task_id)}"


def _beginning(task: TaskTry) -> str:
    """Return the name of the file without the number of the try and the extension."""
    return f"run={_safe(task.run_id)},map={task.map_index},try="


def _safe(name: str) -> str:
    """Return ``name`` without characters that mean something in a path or a pattern."""
    quoted = quote(octets(name), safe="")
    if len(quoted) <= _LONGEST_NAME:
        return quoted
    return f"{quoted[:_KEPT]}+{sha256(octets(name)).hexdigest()[:32]}"
