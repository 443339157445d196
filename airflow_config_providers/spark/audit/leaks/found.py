"""What a search has found, of a split or of a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

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
