"""Records of tries in Airflow's task state store or XComs: the keys of their entries, and the parts in these."""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from airflow_config_providers.core.document import loaded
from airflow_config_providers.exceptions import ConfigException, LimitExceededError
from airflow_config_providers.job.records.record import LARGEST, TaskTry, TryRecord, parsed, written

PREFIX: Final = "config_providers_record"
"""The beginning of the keys of all entries of records, in the task's state or in its XComs."""

FIRST_KEY: Final = rf"{PREFIX}_([1-9][0-9]{{0,8}})"
"""The pattern of the key of a first entry, with which a record exists; its group is the number of the try."""

ANY_KEY: Final = rf"{FIRST_KEY}(?:_job|_part(?:[2-9]|[1-9][0-9]|1[0-9]{{2}}|200))?"
"""The pattern of the keys of all entries, in which Python and Java see the same."""

_PART: Final = 60_000
"""The most characters of data in an entry. Airflow warns above 65,535 bytes, by default."""

_MOST_PARTS: Final = 200
"""The most entries of one record; ``ANY_KEY`` has their numbers."""

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
    record = record_in(entries.get, task)
    job = entries.get(job_key(task.try_number))
    return replace(record, job=job) if record is not None and isinstance(job, str) else record


def record_in(read: Callable[[str], Any], task: TaskTry) -> TryRecord | None:
    """Return the record of ``task`` without the id of its job; ``read`` returns the entry under a key, or None."""
    return TryRecord.read(_document(read, record_key(task.try_number)), task)


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
            "The record is in the [workers] state_store_backend, which is read only in tasks. To see later tries in "
            "describe --run, diff, bisect and audits, set [config_providers] records_path."
        )


def _document(read: Callable[[str], Any], key: str) -> Any:
    first = read(key)
    if not isinstance(first, dict) or type(first.get("parts")) is not int or not 0 < first["parts"] <= _MOST_PARTS:
        return None
    rest = (read(_part_key(key, number)) for number in range(2, first["parts"] + 1))
    parts = [part for part in (first.get("data"), *rest) if isinstance(part, str)]
    return _opened("".join(parts)) if len(parts) == first["parts"] else None


def _opened(data: str) -> Any:
    opener = zlib.decompressobj()
    try:
        text = opener.decompress(base64.b64decode(data, validate=True), LARGEST)
    except (ValueError, zlib.error):  # another try has overwritten a part, or it is not ours
        return None
    return parsed(text) if opener.eof else None
