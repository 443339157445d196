"""
Searches splits of files for known values, in constant memory. It runs in executors.

Small files are searched together, because most of them have nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from dataclasses import dataclass, replace
from itertools import accumulate
from operator import attrgetter
from typing import Final

from airflow_config_providers.core.closed_on_exit import ClosedOnExit
from airflow_config_providers.spark.audit.batches import packed
from airflow_config_providers.spark.audit.leaks.decompression import decompressed
from airflow_config_providers.spark.audit.leaks.file_blocks import (
    BLOCK,
    COMPRESSED_BLOCK,
    blocks,
    ends_hash,
    hash_of_ends,
    joined,
    opened,
)
from airflow_config_providers.spark.audit.leaks.file_format import (
    CONTEXT,
    HEADER,
    LONGEST_MAGIC,
    CompressedMembers,
    compression_of,
    doubt,
    is_parquet,
    is_tar,
)
from airflow_config_providers.spark.audit.leaks.file_listing import Split
from airflow_config_providers.spark.audit.leaks.leak import Found, FoundLeak, FoundSoFar, until_broken
from airflow_config_providers.spark.audit.leaks.open_file import ContentError, LoadedFile, OpenFile, OpenFolder
from airflow_config_providers.spark.audit.leaks.parquet_file import ParquetFile, search_columns
from airflow_config_providers.spark.audit.leaks.reader_processes import Readers
from airflow_config_providers.spark.audit.leaks.sought import OccurrenceFinder

OctetsRead = Callable[[int], None]
"""Called with the number of bytes that were read."""

_ONLY_BYTES: Final = "Only its bytes as they are were searched."
_AND_BYTES: Final = "Its bytes as they are were searched, too."
_NOW_COMPRESSED: Final = f"It is compressed, and was not before the search. {_ONLY_BYTES}"

Opened = Callable[[str, int], AbstractContextManager[OpenFile]]
"""Opens a file, of which the size is known, as ``content.opened`` does."""

_TOGETHER: Final = 64 * 1024
"""How many bytes of small files are searched together: the hits of so many are few."""

_MOST: Final = 64
"""The most files that are searched together, because each can have grown by ``_MORE``."""

_MORE: Final = 4096
"""How many bytes beyond the listed size are read, to see whether the file ends there."""


class Search(ClosedOnExit):
    """
    Searches splits, also in several threads.

    A file with columns is searched in a process of its own, which a broken one can end; it goes on with the next one.

    :param block: how many bytes are searched at a time
    """

    def __init__(self, finder: OccurrenceFinder, tick: OctetsRead, *, block: int = BLOCK) -> None:
        self.finder = finder
        self.tick = tick
        self._block = block
        self._readers = Readers[Split, _Columns](
            lambda source, split: _searched_columns(source, split, finder), prepare=_import_once
        )

    def __call__(self, split: Split, opened: Opened = opened) -> Found[FoundLeak]:
        """Search one split. It never fails: what cannot be read is a problem in the result."""
        progress = FoundSoFar()
        with progress.noting_failure(), opened(split.file.path, split.file.size) as source:
            self._search(split, source, progress)
        return progress.as_found()

    def close(self) -> None:
        """End the processes."""
        self._readers.close()

    def _search(self, split: Split, source: OpenFile, progress: FoundSoFar) -> None:
        beginning = source.read(0, HEADER)
        columns = self._columns(split, source) if is_parquet(beginning) else None
        if columns:
            progress.take(columns.progress)
            if columns.have_rows:
                return
            progress.problems.append(_AND_BYTES if columns.are_known else _ONLY_BYTES)
        compression = compression_of(beginning)
        if compression and split.end is not None:
            progress.problems.append(_NOW_COMPRESSED)
            compression = ""
        stretch = _stretch(source, split, self.finder.margin, self.tick, compression=compression)
        if not compression and is_tar(beginning):
            at = max(0, stretch.first - CONTEXT)
            members = CompressedMembers(source.read(at, stretch.first - at), at=at)
            stretch = replace(stretch, content=progress.noting_members(stretch.content, members))
        ends = _ends(source, split)  # before the search: if the file is rewritten meanwhile, they are other ones then
        _find_in(stretch, self.finder, progress, self._block)
        progress.ends = ends
        if columns and columns.are_known:
            progress.lines = 0  # leaks in other splits have the rows of the whole file
        if split.begin == 0 and not compression and (reason := doubt(split.file.path, beginning[:LONGEST_MAGIC])):
            progress.problems.append(reason)

    def _columns(self, split: Split, source: OpenFile) -> _Columns:
        try:
            return self._readers.read(source, split, self.tick)
        except ContentError as error:
            return _Columns(FoundSoFar(problems=[str(error)]))


@dataclass(frozen=True, slots=True)
class _Columns:
    """
    What is found in a split of a file with columns.

    :param are_known: whether the footer can be read
    :param have_rows: whether rows were searched, or there are none
    """

    progress: FoundSoFar
    are_known: bool = True
    have_rows: bool = False


def _import_once() -> None:
    with suppress(ImportError):  # the reader of a file reports it
        import pyarrow.parquet  # noqa: F401, PLC0415 - only such files need it


def _searched_columns(source: OpenFile, split: Split, finder: OccurrenceFinder) -> _Columns:
    progress = FoundSoFar()
    try:
        file = ParquetFile.open(source, split.file.size)
    except ContentError as error:
        return _Columns(FoundSoFar(problems=[str(error)]), are_known=False)
    have_rows = True
    with progress.noting_failure():
        have_rows = search_columns(file, split, finder, progress)
    return _Columns(progress, have_rows=have_rows)


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


def _stretch(source: OpenFile, split: Split, margin: int, tick: OctetsRead, *, compression: str) -> _Stretch:
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


def _ticking(content: Iterator[bytes], tick: OctetsRead) -> Iterator[bytes]:
    for block in content:
        tick(len(block))
        yield block


def _ends(source: OpenFile, split: Split) -> str:
    """Return the hash of the ends of a file, if the split has the last; empty if they cannot be read."""
    try:
        return ends_hash(source, split.file.size) if split.end in {None, split.file.size} else ""
    except ContentError:  # the search reports it
        return ""


def _find_in(stretch: _Stretch, finder: OccurrenceFinder, progress: FoundSoFar, least: int) -> None:
    """
    Add to ``progress`` the occurrences that begin in the split.

    Each is searched for with as many bytes around it as the longest can have, so that the blocks make no difference.

    :param least: how many bytes are searched at a time
    """
    content = joined(until_broken(stretch.content, progress.problems.append), least)
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
        _add(data, at, within=(done, end), finder=finder, progress=progress)
        done = max(done, end)
        if following is None:
            return
        keep = max(0, done - finder.margin - at)
        kept, at, block = data[keep:], at + keep, following


def _add(data: bytes, at: int, *, within: tuple[int, int], finder: OccurrenceFinder, progress: FoundSoFar) -> None:
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


def search_all(
    splits: Iterable[Split], finder: OccurrenceFinder, tick: OctetsRead
) -> Iterator[Sequence[Found[FoundLeak]]]:
    """Yield the results of some splits at a time, in order; each is that of ``Search``."""
    with closing(OpenFolder()) as folder, Search(finder, tick) as search:
        for some in packed(splits, attrgetter("file.size"), most=_TOGETHER, count=_MOST):
            contents = [_content(split, folder) for split in some]
            yield _searched(some, contents, search, folder)


def _content(split: Split, folder: OpenFolder) -> bytes | None:
    """Return the content of a small file; None if it is not read as a whole here, such as if it has become shorter."""
    size = split.file.size
    if size > _TOGETHER or split.end is not None:
        return None
    content = folder.beginning(split.file.path, size + _MORE)
    return content if content is not None and size <= len(content) < size + _MORE else None


def _searched(
    splits: Sequence[Split], contents: Sequence[bytes | None], search: Search, folder: OpenFolder
) -> Sequence[Found[FoundLeak]]:
    found = list[Found[FoundLeak]]()
    have_clue = _with_clue([content or b"" for content in contents], search.finder)
    quiet = 0
    for place, (split, content) in enumerate(zip(splits, contents, strict=True)):
        if content is None:
            found.append(search(split, lambda path, _: folder.opened(path)))
        elif place in have_clue or compression_of(content) or is_parquet(content) or is_tar(content):
            found.append(search(split, _loaded(content)))
        else:
            found.append(_without_occurrence(split, content))
            quiet += len(content)
    search.tick(quiet)
    return found


def _loaded(content: bytes) -> Opened:
    return lambda _, __: nullcontext(LoadedFile(content))


def _with_clue(contents: Sequence[bytes], finder: OccurrenceFinder) -> set[int]:
    """Return the places of those of ``contents`` in which something can be found."""
    ends = list(accumulate(map(len, contents)))
    found = set[int]()
    for start, end in finder.clues(b"".join(contents)):
        place = bisect_right(ends, start)
        if end <= ends[place]:
            found.add(place)
    return found


def _without_occurrence(split: Split, content: bytes) -> Found[FoundLeak]:
    """Return the result for a file in which nothing is found. What it has beyond its listed size is only context."""
    path, size = split.file.path, split.file.size
    problem = doubt(path, content[:LONGEST_MAGIC])
    return Found((), size, content.count(b"\n", 0, size), problem, hash_of_ends(content[:size]))
