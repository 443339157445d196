"""Searches splits of files for known values, in constant memory. It runs in executors."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from airflow_config_providers.spark.audit.content import (
    BLOCK,
    COMPRESSED_BLOCK,
    LONGEST_MAGIC,
    ContentError,
    blocks,
    compression_of,
    decompressed,
    doubt,
    opened,
    tail_hash,
)
from airflow_config_providers.spark.audit.files import Split
from airflow_config_providers.spark.audit.leak_finder import LeakFinder, Occurrence

MOST_LEAKS: Final = 10_000
"""The most leaks that are listed of one split, so that a file that is full of a value does not fill the memory."""


@dataclass(frozen=True, slots=True)
class FoundLeak:
    """
    An occurrence in a split.

    :param lines: the number of line ends between the beginning of the split and the occurrence
    """

    occurrence: Occurrence
    lines: int


@dataclass(frozen=True, slots=True)
class Searched:
    """
    The result of one split.

    :param octets: how many bytes were searched, of the decompressed content
    :param lines: how many line ends the split has
    :param problem: why not all of it could be read; empty if all was
    :param tail: a hash of the end of the file, if the split has it; see ``tail_hash``
    """

    split: Split
    leaks: Sequence[FoundLeak] = ()
    octets: int = 0
    lines: int = 0
    problem: str = ""
    tail: str = ""


@dataclass(slots=True)
class Progress:
    """
    How far a search has come.

    :param octets: bytes of content
    :param lines: line ends
    """

    octets: int = 0
    lines: int = 0
    leaks: list[FoundLeak] = field(default_factory=list)

    @property
    def is_full(self) -> bool:
        """Whether no more leaks are listed."""
        return len(self.leaks) >= MOST_LEAKS


Tick = Callable[[int], None]
"""Is told how many bytes were read."""


def search(split: Split, finder: LeakFinder, tick: Tick = lambda octets: None, *, block: int = BLOCK) -> Searched:
    """
    Search one split. It never fails: what cannot be read is a problem in the result.

    :param block: how many bytes are searched at a time
    """
    progress, problems, tail = Progress(), list[str](), ""
    try:
        with opened(split.file.path) as descriptor:
            _search(descriptor, split, finder, progress, problems=problems, tick=tick, block=block)
            if split.end in {None, split.file.size}:
                tail = tail_hash(descriptor, split.file.size)
    except ContentError as error:
        problems.append(str(error))
    except (OSError, MemoryError, ValueError) as error:
        problems.append(f"It could not be searched ({type(error).__name__}).")
    if progress.is_full:
        problems.append(f"It has {MOST_LEAKS:,} leaks in one place: no more are listed of that.")
    return Searched(split, tuple(progress.leaks), progress.octets, progress.lines, " ".join(problems), tail)


def _search(  # noqa: PLR0913 - what is added to is given
    descriptor: int,
    split: Split,
    finder: LeakFinder,
    progress: Progress,
    *,
    problems: list[str],
    tick: Tick,
    block: int,
) -> None:
    beginning = os.pread(descriptor, LONGEST_MAGIC, 0)
    compression = compression_of(beginning)
    if compression and split.end is None:
        content = decompressed(compression, _ticking(blocks(descriptor, 0, None, size=COMPRESSED_BLOCK), tick))
        _find_in(_joined(_until_broken(content, problems), block), finder, progress, within=(0, None))
        return
    first = max(0, split.begin - finder.margin)
    last = split.file.size if split.end is None else split.end
    content = _ticking(_bounded(descriptor, first, last, finder.margin), tick)
    whole = _joined(_until_broken(content, problems), block)
    _find_in(whole, finder, progress, within=(split.begin, last), first=first)
    if split.begin == 0 and (reason := doubt(split.file.path, beginning)):
        problems.append(reason)


def _until_broken(content: Iterator[bytes], problems: list[str]) -> Iterator[bytes]:
    """Yield what can be read, so that it is searched, and add to ``problems`` why the rest cannot be."""
    try:
        yield from content
    except ContentError as error:
        problems.append(str(error))


def _bounded(descriptor: int, first: int, last: int, margin: int) -> Iterator[bytes]:
    """Yield the bytes until ``last``, which must be there, and what follows within ``margin``, if there is more."""
    yield from blocks(descriptor, first, last)
    if after := os.pread(descriptor, margin, last):
        yield after


def _ticking(content: Iterator[bytes], tick: Tick) -> Iterator[bytes]:
    for block in content:
        tick(len(block))
        yield block


def _find_in(
    content: Iterator[bytes], finder: LeakFinder, progress: Progress, *, within: tuple[int, int | None], first: int = 0
) -> None:
    """
    Add to ``progress`` the occurrences that begin ``within`` a range.

    Each is searched for with as many bytes around it as the longest can have, so that the blocks make no difference.

    :param first: the offset of the first byte of ``content``
    """
    begin, last = within
    kept, at, done = b"", first, begin  # at: the offset of kept; done: up to there, all were found
    block = next(content, b"")
    while True:
        following = next(content, None)
        data = kept + block
        end = at + len(data) if following is None else max(done, at + len(data) - finder.margin)
        if last is not None:
            end = min(end, last)
        _add(data, at, (done, end), finder, progress)
        done = max(done, end)
        if following is None:
            return
        keep = max(0, done - finder.margin - at)
        kept, at, block = data[keep:], at + keep, following


def _joined(content: Iterable[bytes], least: int) -> Iterator[bytes]:
    """Yield larger blocks, because each is searched with a margin."""
    parts: list[bytes] = []
    size = 0
    for part in content:
        parts.append(part)
        size += len(part)
        if size >= least:
            yield b"".join(parts)
            parts, size = [], 0
    if parts:
        yield b"".join(parts)


def _add(data: bytes, at: int, within: tuple[int, int], finder: LeakFinder, progress: Progress) -> None:
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
