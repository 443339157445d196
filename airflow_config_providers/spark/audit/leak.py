"""A leak that the audit found, and the leaks that were accepted."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, Final, Self

from airflow_config_providers.core.text import octets, printable
from airflow_config_providers.exceptions import ConfigException

_FIRST: Final = int(datetime(1, 1, 2, tzinfo=UTC).timestamp())
_LAST: Final = int(datetime(9999, 12, 30, tzinfo=UTC).timestamp())

_LONGEST_LINE: Final = 1024 * 1024
_LARGEST_BASELINE: Final = 1024 * 1024 * 1024

_MOST_ODD: Final = 10
"""How many wrong lines of a baseline are named."""


@dataclass(frozen=True, slots=True, order=True)
class Leak:
    """
    A place where a value stands. It never shows the value.

    :param file: the path of the file
    :param offset: of the first byte, in the decompressed content
    :param line: counted from 1
    :param encoding: how the value is written, such as ``base64``
    :param age: whether it is the ``current`` value of the reference, or an ``earlier`` one
    :param modified: when the file was last modified, in ISO 8601; empty for a row of a table that does not say it
    """

    file: str
    offset: int
    line: int
    reference: str
    encoding: str
    age: str
    modified: str

    @property
    def id(self) -> str:
        """A name that stays the same as long as the file only grows."""
        parts = (self.file, self.offset, self.reference, self.encoding)
        return blake2b(octets(json.dumps(parts)), digest_size=10).hexdigest()

    def row(self) -> dict[str, Any]:
        """Return the leak for programs."""
        return {
            "file": self.file,
            "offset": self.offset,
            "line": self.line,
            "reference": self.reference,
            "encoding": self.encoding,
            "age": self.age,
            "modified": self.modified,
            "id": self.id,
        }

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> Self:
        """
        Return the leak of a row.

        :raises KeyError: a field is missing
        :raises TypeError: a field is of another type
        """
        leak = cls(**{name: row[name] for name in cls.__slots__})
        require_types(row, {name: int if name in {"offset", "line"} else str for name in cls.__slots__})
        return leak


def require_types(row: Mapping[str, Any], types: Mapping[str, type]) -> None:
    """
    Check the fields of a row that was read.

    :raises KeyError: a field is missing
    :raises TypeError: a field is of another type
    """
    if any(type(row[name]) is not kind for name, kind in types.items()):
        raise TypeError


def moment(nanoseconds: int) -> str:
    """Return a moment, in nanoseconds since 1970, in ISO 8601."""
    seconds = min(max(_FIRST, nanoseconds // 1_000_000_000), _LAST)  # file systems know years that Python does not
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def read_baseline(path: str) -> frozenset[str]:
    """
    Return the ids of accepted leaks in a file: one a line, or lines of JSON with an ``id``, as the audit prints them.

    A ``#`` begins a comment.

    :raises ConfigException: the file cannot be read, or is no baseline
    """
    try:
        return frozenset(_ids(lines_of(path), path))
    except (OSError, UnicodeDecodeError) as error:
        problem = getattr(error, "strerror", None) or type(error).__name__
    raise ConfigException(f"The baseline {printable(path)} cannot be read: {problem}. Correct --baseline.")


def lines_of(path: str, *, largest: int = _LARGEST_BASELINE, longest: int = _LONGEST_LINE) -> Iterator[str]:
    """
    Yield the lines of a file or a pipe, without blanks around them. It does not wait for a pipe nobody writes to.

    :param longest: the most characters of a line; a longer one comes in parts
    :raises OSError: it cannot be read, or has more than ``largest`` characters, as a device without an end has
    :raises UnicodeDecodeError: it is no text
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, encoding="utf-8") as file:
        os.set_blocking(descriptor, True)
        size = 0
        while line := file.readline(longest):
            size += len(line)
            if size > largest:
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
            yield line.strip()
        if not size and stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            raise OSError(errno.EPIPE, "It is a pipe that nobody writes to")


def _ids(lines: Iterable[str], path: str) -> Collection[str]:
    found, odd = set(), list[int]()
    for number, line in enumerate(lines, 1):
        text = line if line.startswith("{") else line.partition("#")[0].strip()
        if (one := _id(text)) is None:
            odd.append(number)
        elif one:
            found.add(one)
        if len(odd) == _MOST_ODD:
            break
    if odd:
        raise ConfigException(
            *(
                f"{printable(path)}:{number}: this is not the id of a leak. Correct it, or remove the line."
                for number in odd
            )
        )
    return found


def _id(text: str) -> str | None:
    """Return the id in a line; empty if it has none, and None if it is something else."""
    if text.startswith("{"):
        try:
            found = json.loads(text).get("id")
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, str) else None
    is_id = len(text) == 20 and all(character in "0123456789abcdef" for character in text)
    return text if is_id or not text else None
