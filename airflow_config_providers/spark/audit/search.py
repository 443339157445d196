"""Searches splits of files for known values, in constant memory. It runs in executors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final, NamedTuple

from airflow_config_providers.spark.audit.content import (
    BLOCK,
    COMPRESSED_BLOCK,
    LONGEST_MAGIC,
    blocks,
    compression_of,
    decompressed,
    doubt,
    ends_hash,
    joined,
    opened,
)
from airflow_config_providers.spark.audit.files import Split
from airflow_config_providers.spark.audit.leak_finder import Occurrence
from airflow_config_providers.spark.audit.open_file import ContentError, OpenFile
from airflow_config_providers.spark.audit.sought import OccurrenceFinder
from airflow_config_providers.spark.audit.tar_members import CONTEXT, HEADER, CompressedMembers, is_tar

MOST_LEAKS: Final = 10_000
"""The most leaks that are listed of one split, so that a file that is full of a value does not fill the memory."""


_MEMBERS: Final = "It has compressed files in a tar archive: only their bytes as they are were searched."


@dataclass(frozen=True, slots=True)
class FoundLeak:
    """
    An occurrence in a split.

    :param lines: the number of line ends between the beginning of the split and the occurrence
    """

    occurrence: Occurrence
    lines: int


SearchedRest = tuple[Sequence[FoundLeak], int, int, str, str]

SearchedColumns = tuple[Sequence[Sequence[FoundLeak]], Sequence[int], Sequence[int], Sequence[str], Sequence[str]]
"""Several ``SearchedRest`` as columns, which is pickled fastest."""


class Searched(NamedTuple):
    """
    The result of one split.

    :param octets: how many bytes were searched, of the decompressed content
    :param lines: how many line ends the split has
    :param problem: why not all of it could be read; empty if all was
    :param ends: a hash of both ends of the file, if the split has the last; see ``ends_hash``
    """

    split: Split
    leaks: Sequence[FoundLeak] = ()
    octets: int = 0
    lines: int = 0
    problem: str = ""
    ends: str = ""

    @property
    def rest(self) -> SearchedRest:
        """All but the split, which whoever asked for it has."""
        return self.leaks, self.octets, self.lines, self.problem, self.ends


@dataclass(slots=True)
class Progress:
    """
    How far the search of a split is.

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

    def until_broken(self, content: Iterator[bytes]) -> Iterator[bytes]:
        """Yield what can be read, so that it is searched, and keep why the rest cannot be."""
        try:
            yield from content
        except ContentError as error:
            self.problems.append(str(error))

    def noting_compressed(self, content: Iterator[bytes]) -> Iterator[bytes]:
        """Yield decompressed ``content``, and keep that it is compressed again, because that is not undone."""
        for place, block in enumerate(content):
            if place == 0 and (compression_of(block) or doubt("", block)):
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

    def of(self, split: Split) -> Searched:
        """Return the result of ``split``."""
        if self.is_full:
            self.problems.append(f"It has {MOST_LEAKS:,} leaks in one place: no more are listed of that.")
        return Searched(split, tuple(self.leaks), self.octets, self.lines, " ".join(self.problems), self.ends)


Tick = Callable[[int], None]
"""Is told how many bytes were read."""


Opened = Callable[[str, int], AbstractContextManager[OpenFile]]
"""Opens a file, of which the size is known, as ``content.opened`` does."""


def search(
    split: Split,
    finder: OccurrenceFinder,
    tick: Tick = lambda octets: None,
    *,
    block: int = BLOCK,
    opened: Opened = opened,
) -> Searched:
    """
    Search one split. It never fails: what cannot be read is a problem in the result.

    :param block: how many bytes are searched at a time
    """
    progress = Progress()
    try:
        with opened(split.file.path, split.file.size) as source:
            beginning = source.read(0, HEADER)
            compression = compression_of(beginning) if split.end is None else ""
            stretch = _stretch(source, split, finder.margin, tick, compression=compression)
            if not compression and is_tar(beginning):
                at = max(0, stretch.first - CONTEXT)
                members = CompressedMembers(source.read(at, stretch.first - at), at=at)
                stretch = replace(stretch, content=progress.noting_members(stretch.content, members))
            _find_in(stretch, finder, progress, block)
            if split.end in {None, split.file.size}:
                progress.ends = ends_hash(source, split.file.size)
            if split.begin == 0 and not compression and (reason := doubt(split.file.path, beginning[:LONGEST_MAGIC])):
                progress.problems.append(reason)
    except ContentError as error:
        progress.problems.append(str(error))
    except Exception as error:  # noqa: BLE001 - whatever one file does, the others are searched
        progress.problems.append(f"It could not be searched ({type(error).__name__}).")
    return progress.of(split)


@dataclass(frozen=True, slots=True)
class _Stretch:
    """
    The content in which a split is searched for.

    :param first: the offset of its first byte
    :param begin: the offset of the split; what begins before it belongs to another
    :param end: the offset after the split; None if it ends with the content
    """

    content: Iterator[bytes]
    first: int = 0
    begin: int = 0
    end: int | None = None
    is_decompressed: bool = False


def _stretch(source: OpenFile, split: Split, margin: int, tick: Tick, *, compression: str) -> _Stretch:
    if compression:
        compressed = _ticking(blocks(source, 0, None, size=COMPRESSED_BLOCK), tick)
        return _Stretch(decompressed(compression, compressed), is_decompressed=True)
    first = max(0, split.begin - margin)
    last = split.file.size if split.end is None else split.end
    return _Stretch(_ticking(_bounded(source, first, last, margin), tick), first, split.begin, last)


def _bounded(source: OpenFile, first: int, last: int, margin: int) -> Iterator[bytes]:
    """Yield the bytes until ``last``, which must be there, and what follows within ``margin``, if there is more."""
    yield from blocks(source, first, last)
    if after := source.read(last, margin):
        yield after


def _ticking(content: Iterator[bytes], tick: Tick) -> Iterator[bytes]:
    for block in content:
        tick(len(block))
        yield block


def _find_in(stretch: _Stretch, finder: OccurrenceFinder, progress: Progress, least: int) -> None:
    """
    Add to ``progress`` the occurrences that begin in the split.

    Each is searched for with as many bytes around it as the longest can have, so that the blocks make no difference.

    :param least: how many bytes are searched at a time
    """
    content = joined(progress.until_broken(stretch.content), least)
    if stretch.is_decompressed:
        content = progress.noting_compressed(content)
    kept, at, done = b"", stretch.first, stretch.begin  # at: the offset of kept; done: up to there, all were found
    block = next(content, b"")
    while True:
        following = next(content, None)
        data = kept + block
        end = at + len(data) if following is None else max(done, at + len(data) - finder.margin)
        if stretch.end is not None:
            end = min(end, stretch.end)
        _add(data, at, (done, end), finder, progress)
        done = max(done, end)
        if following is None:
            return
        keep = max(0, done - finder.margin - at)
        kept, at, block = data[keep:], at + keep, following


def _add(data: bytes, at: int, within: tuple[int, int], finder: OccurrenceFinder, progress: Progress) -> None:
    """Add the occurrences in ``data`` that begin ``within`` a range of offsets, and count its lines."""
    begin, end = within
    counted = begin
    for one in () if progress.is_full else finder.find(data):
        start = at + one.start
        if begin <= start < end and not progress.is_full:
            progress.lines += data.count(b"\n", counted - at, one.start)
            counted = start
            progress.leaks.append(FoundLeak(replace(one, start=start, end=at + one.end), progress.lines))
    progress.lines += data.count(b"\n", max(0, counted - at), max(0, end - at))
    progress.octets += max(0, end - begin)
