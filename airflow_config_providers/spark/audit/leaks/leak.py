"""Leaks, what was found in files and in splits of them, and how far the search of a split is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from airflow_config_providers.core.text import octets
from airflow_config_providers.spark.audit.leaks.file_format import CompressedMembers, is_encoded, is_tar
from airflow_config_providers.spark.audit.leaks.file_listing import Split
from airflow_config_providers.spark.audit.leaks.leak_finder import Occurrence
from airflow_config_providers.spark.audit.leaks.open_file import ContentError

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


MOST_LEAKS: Final = 10_000
"""The most leaks that are listed of one split, so that a file that is full of a value does not fill the memory."""

_MOST_PROBLEMS: Final = 5
"""The most problems that are listed of one split: each of its row groups can have one."""

_Content = TypeVar("_Content")

_MEMBERS: Final = (
    "It has compressed files in a tar archive: only their bytes as they are were searched. Unpack it to search them."
)

_Leak = TypeVar("_Leak")


class Found(NamedTuple, Generic[_Leak]):
    """
    What was found in a split, or in a file.

    :param leaks: what was found, in order
    :param octets: how many bytes were searched, of the decompressed content
    :param lines: how many line ends there are
    :param problem: why not all of it could be searched; empty if all was
    :param ends: a hash of both ends of the file, see ``ends_hash``; empty if the file must be read from the beginning
        when it has grown, or if a split has not its last bytes
    """

    leaks: Sequence[_Leak] = ()
    octets: int = 0
    lines: int = 0
    problem: str = ""
    ends: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether all of it was searched."""
        return not self.problem

    @property
    def is_unread(self) -> bool:
        """Whether nothing of it could be read."""
        return bool(self.problem) and not self.octets


FoundColumns = tuple[Sequence[Sequence[_Leak]], Sequence[int], Sequence[int], Sequence[str], Sequence[str]]
"""Several ``Found`` as columns, which is pickled fastest."""


def columns_of(several: Sequence[Found[_Leak]]) -> FoundColumns[_Leak]:
    """Return the columns of one or more."""
    leaks, octets, lines, problems, ends = zip(*several, strict=True)
    return leaks, octets, lines, problems, ends


@dataclass(frozen=True, slots=True)
class FoundLeak:
    """
    An occurrence in a split.

    :param lines: the number of line ends between the beginning of the split and the occurrence; in a column, the number
        of rows before its own, in the whole file
    :param column: the column that it is in, if the file has columns
    """

    occurrence: Occurrence
    lines: int
    column: str = ""


class SplitLeaks(NamedTuple):
    """A split, and what was found in it."""

    split: Split
    found: Found[FoundLeak]


@dataclass(slots=True)
class FoundSoFar:
    """
    What the search of a split has found so far.

    :param octets: bytes of content
    :param lines: line ends
    :param problems: why not all of it could be read
    """

    octets: int = 0
    lines: int = 0
    leaks: list[FoundLeak] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    ends: str = ""

    @property
    def is_full(self) -> bool:
        """Whether no more leaks are listed."""
        return len(self.leaks) >= MOST_LEAKS

    def take(self, columns: FoundSoFar) -> None:
        """Add what was found in the columns of a file: bytes, leaks and problems, but no lines or ends."""
        self.octets += columns.octets
        self.leaks += columns.leaks
        self.problems += columns.problems

    @contextmanager
    def noting_failure(self) -> Iterator[None]:
        """Keep why the block fails, whatever one file does, so that the others are searched."""
        try:
            yield
        except ContentError as error:
            self.problems.append(str(error))
        except Exception as error:  # noqa: BLE001 - its message could hold something of the content
            self.problems.append(f"It could not be searched ({type(error).__name__}).")

    def note_of_part(self, problem: str) -> None:
        """Keep a problem that many parts of a file can have, such as its row groups."""
        if problem not in self.problems and len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(problem)

    def noting_compressed(self, content: Iterator[bytes]) -> Iterator[bytes]:
        """Yield decompressed ``content``, and keep that it is compressed again, because that is not undone."""
        for place, block in enumerate(content):
            if place == 0 and is_encoded(block):
                self.problems.append("Its content is compressed again: only its bytes as they are were searched.")
            if place == 0 and is_tar(block):
                yield from self.noting_members(chain([block], content), CompressedMembers())
            else:
                yield block

    def noting_members(self, content: Iterator[bytes], members: CompressedMembers) -> Iterator[bytes]:
        """Yield the ``content`` of a tar archive, and keep that it has compressed files, because that is not undone."""
        for block in content:
            if _MEMBERS not in self.problems and members.are_in(block):
                self.problems.append(_MEMBERS)
            yield block

    def as_found(self) -> Found[FoundLeak]:
        """Return the result of the split."""
        if self.is_full:
            self.problems.append(f"It has {MOST_LEAKS:,} leaks in one place: no more are listed of that.")
        return Found(tuple(self.leaks), self.octets, self.lines, " ".join(self.problems), self.ends)


def until_broken(content: Iterator[_Content], note: Callable[[str], object]) -> Iterator[_Content]:
    """
    Yield what can be read, so that it is searched.

    :param note: is called with why the rest cannot be
    """
    try:
        yield from content
    except ContentError as error:
        note(str(error))
