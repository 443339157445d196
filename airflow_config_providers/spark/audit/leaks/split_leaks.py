"""What was found in files and in splits of them, and how far the search of a split is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import Final, Generic, NamedTuple, TypeVar

from airflow_config_providers.spark.audit.leaks.file_format import CompressedMembers, is_encoded, is_tar
from airflow_config_providers.spark.audit.leaks.files import Split
from airflow_config_providers.spark.audit.leaks.leak_finder import Occurrence
from airflow_config_providers.spark.audit.leaks.open_file import ContentError

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
