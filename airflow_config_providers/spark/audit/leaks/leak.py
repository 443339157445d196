"""A leak that the audit found."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.core.text import octets

if TYPE_CHECKING:
    from airflow_config_providers.spark.audit.leaks.leak_finder import Occurrence

_FIRST: Final = int(datetime(1, 1, 2, tzinfo=UTC).timestamp())
_LAST: Final = int(datetime(9999, 12, 30, tzinfo=UTC).timestamp())

ID_DIGITS: Final = 20
"""Digits of the id of a leak."""

_COLUMNS: Final = (
    *("file", "offset", "line", "reference", "encoding", "age", "modified"),
    *("id", "fingerprint", "column"),
)


@dataclass(frozen=True, slots=True, order=True)
class Leak:
    """
    A place where a value appears. It never shows the value.

    :param file: the path of the file
    :param offset: of the first byte, in the decompressed content; in a file with columns, in its value
    :param line: counted from 1; in a file with columns, the row
    :param encoding: how the value is written, such as ``base64``
    :param age: whether it is the ``current`` value of the reference, or an ``earlier`` one
    :param modified: when the file was last modified, in ISO 8601; empty if its store or table does not say it
    :param fingerprint: a keyed digest of what appears there, which names its key; empty without a key
    :param column: its column, in a file that has columns; otherwise empty
    """

    file: str
    offset: int
    line: int
    reference: str
    encoding: str
    age: str
    modified: str
    fingerprint: str = ""
    column: str = ""

    @classmethod
    def of(cls, found: Occurrence, file: str, *, line: int, modified: str, column: str = "") -> Leak:
        """Return the leak for what was found in a file."""
        return cls(
            file,
            found.start,
            line=line,
            reference=found.reference,
            encoding=found.encoding,
            age=found.age,
            modified=modified,
            fingerprint=found.fingerprint,
            column=column,
        )

    @property
    def id(self) -> str:
        """A name of the place that stays the same as long as the file only grows, whatever the value is."""
        parts: tuple[str | int, ...] = (self.file, self.offset, self.reference, self.encoding)
        if self.column:
            parts += self.column, self.line
        return blake2b(octets(json.dumps(parts)), digest_size=ID_DIGITS // 2).hexdigest()

    def row(self) -> dict[str, Any]:
        """Return the leak for programs."""
        return {name: getattr(self, name) for name in _COLUMNS}


def iso_moment(nanoseconds: int) -> str:
    """Return when a file was modified, in nanoseconds since 1970, in ISO 8601; empty for 0, which is not known."""
    if not nanoseconds:
        return ""
    seconds = min(max(_FIRST, nanoseconds // 1_000_000_000), _LAST)  # file systems know years that Python does not
    return datetime.fromtimestamp(seconds, UTC).isoformat()
