"""The files below some paths, and their division into splits that one task each can search."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final, NamedTuple

from airflow_config_providers.exceptions import system_reason
from airflow_config_providers.spark.audit.batches import packed
from airflow_config_providers.spark.audit.leaks.file_blocks import opened
from airflow_config_providers.spark.audit.leaks.file_format import LONGEST_MAGIC, compression_of, is_parquet
from airflow_config_providers.spark.audit.leaks.object_store import is_stored, real, store_of
from airflow_config_providers.spark.audit.leaks.open_file import ContentError, opened_file

SPLIT: Final = 64 * 1024 * 1024
"""How many bytes of a large file are one split."""

MOST_FILES: Final = 8_000
"""The most files in one group. A task by itself takes as long as some hundred small files."""

_BEFORE_DATA: Final = 4096
"""How much of a hole before data is read: a value in UTF-16 can begin with a zero."""

_OPENING: Final = 8 * 1024
"""What opening a file costs, in bytes that could be searched meanwhile."""

_REQUEST: Final = 64 * 1024
"""What asking a store for an object costs, in bytes that could be searched meanwhile."""


class FoundFile(NamedTuple):
    """
    A regular file, or an object in a store.

    Like all that is made for each file, it is a tuple, which takes the least time.

    :param path: its path below the given one, absolute
    :param size: in bytes
    :param modified: when it was last modified, in nanoseconds since 1970; 0 if its store does not say
    :param etag: what its store says of the content, another one for another content; empty if it says nothing
    :param changed: when it or its metadata was last changed, in the same unit; unlike ``modified``, no program can
        choose it. 0 for an object
    """

    path: str
    size: int
    modified: int
    etag: str = ""
    changed: int = 0


@dataclass(frozen=True, slots=True)
class FileListing:
    """
    What is below some paths.

    :param files: the regular files
    :param skipped: path -> why it was not read, for links, pipes, sockets and devices
    :param unread: path -> why it could not be listed
    """

    files: list[FoundFile] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, paths: Iterable[str]) -> FileListing:
        """
        Return the files below ``paths``, each once.

        Links are not followed: what they lead to is listed where it is, if it is below one of the paths. Only a given
        path itself may be a link.
        """
        listing, seen = cls(), set[str]()
        for path in paths:
            root = real(path)
            if is_stored(root):
                listing._add_stored(root)
            elif root not in seen:
                listing._add(root, seen)
        listing.files[:] = sorted({one.path: one for one in listing.files}.values(), key=attrgetter("path"))
        return listing

    def present(self, paths: Iterable[str]) -> set[str]:
        """Return those of ``paths`` that are listed, or that could be there because a folder could not be listed."""
        listed = {file.path for file in self.files}
        return {path for path in paths if path in listed or (self.unread and self._is_unread(path))}

    def _is_unread(self, path: str) -> bool:
        steps = path.split("/")
        return any("/".join(steps[:count]) in self.unread for count in range(1, len(steps) + 1))

    def _add(self, path: str, seen: set[str]) -> None:
        try:
            status = os.lstat(path)
        except OSError as error:
            self.unread[path] = system_reason(error)
            return
        folders = [path] if stat.S_ISDIR(status.st_mode) else []
        if stat.S_ISREG(status.st_mode):
            self._add_one(path, status)
        elif not folders:  # unlike below a folder, it must not only be skipped
            self.unread[path] = "It is neither a folder nor a regular file."
        while folders:
            folder = folders.pop()
            if folder not in seen:
                seen.add(folder)
                folders += self._in_folder(folder)

    def _add_stored(self, path: str) -> None:
        """Add what is in object storage. What was listed before it failed is searched."""
        try:
            for name, one in store_of(path).below(path):
                if one.size is None:
                    self.unread[name] = "It is no file, or its store does not say how large it is."
                else:
                    self.files.append(FoundFile(name, one.size, one.modified, one.etag))
        except ContentError as error:
            self.unread[path] = str(error)

    def _in_folder(self, folder: str) -> list[str]:
        """Add the files in ``folder``, and return the folders in it."""
        folders = list[str]()
        try:
            with os.scandir(folder) as entries:
                folders.extend(entry.path for entry in entries if not self._has_added(entry))
        except OSError as error:
            self.unread[folder] = system_reason(error)
        return folders

    def _has_added(self, entry: os.DirEntry[str]) -> bool:
        """Add an entry of a folder, unless it is a folder itself; return whether it is not."""
        try:
            if entry.is_dir(follow_symlinks=False):
                return False
            self._add_one(entry.path, entry.stat(follow_symlinks=False))
        except OSError as error:  # it has vanished
            self.unread[entry.path] = system_reason(error)
        return True

    def _add_one(self, path: str, status: os.stat_result) -> None:
        if stat.S_ISREG(status.st_mode):
            modified, changed = status.st_mtime_ns, status.st_ctime_ns
            if changed == modified:  # almost always; one number then, because there can be millions of files
                changed = modified
            self.files.append(FoundFile(path, status.st_size, modified, "", changed))
        else:
            self.skipped[path] = "a link" if stat.S_ISLNK(status.st_mode) else "no regular file"


GroupRow = tuple[Sequence[str], Sequence[int], Sequence[int], Sequence[int | None]]


class Split(NamedTuple):
    """
    A part of a file that one task searches.

    :param begin: the offset of its first byte; occurrences that begin before it belong to another split
    :param end: the offset after its last byte; None for all of the file, which can be compressed
    """

    file: FoundFile
    begin: int = 0
    end: int | None = None

    def cost(self) -> int:
        """Return roughly how long it takes, in bytes that could be searched meanwhile."""
        size = self.file.size if self.end is None else self.end - self.begin
        return size + (_REQUEST if is_stored(self.file.path) else _OPENING)


def splits_of(file: FoundFile, *, begin: int = 0, size: int = SPLIT) -> Iterator[Split]:
    """
    Yield the splits of a file: one if it is small or compressed, or if its beginning cannot be read now.

    Splits in a hole are left out, because a sparse file can have terabytes of holes. Of Parquet, none is, because
    its row groups are divided among all splits.

    :param begin: the offset at which the search begins; 0 for a compressed file
    :param size: the size of a split
    """
    beginning = _beginning(file) if file.size - begin > size else b""
    if file.size - begin <= size or beginning is None or compression_of(beginning):
        yield Split(file, begin, None if begin == 0 else file.size)
        return
    last = begin + (file.size - begin - 1) // size * size
    start = begin
    while start < last:
        after = start if is_parquet(beginning) else _data_after(file, start)
        start += max(0, min(after, last) - _BEFORE_DATA - start) // size * size
        yield Split(file, start, start + size)
        start += size
    yield Split(file, last, file.size)


def grouped(splits: Iterable[Split]) -> Iterator[Sequence[Split]]:
    """Yield groups of splits that take about equally long. A million small files become some hundred groups."""
    return packed(splits, Split.cost, most=SPLIT + _REQUEST, count=MOST_FILES)


def row_of(group: Iterable[Split]) -> GroupRow:
    """Return what a task needs of its splits, as columns, which are pickled fastest: there can be millions."""
    files, begins, ends = zip(*group, strict=True)
    paths, sizes, *_ = zip(*files, strict=True)
    return paths, sizes, begins, ends


def group_of(row: GroupRow) -> Iterator[Split]:
    """Yield the splits of a row, without the times of their files."""
    return (Split(FoundFile(path, size, 0), begin, end) for path, size, begin, end in zip(*row, strict=True))


def _data_after(file: FoundFile, start: int) -> int:
    """Return the offset of the next byte that is in no hole of a sparse file; ``start`` if the system cannot say."""
    if is_stored(file.path):
        return start
    try:
        with opened_file(file.path) as source:
            return os.lseek(source.descriptor, start, os.SEEK_DATA)
    except OSError as error:
        return file.size if error.errno == errno.ENXIO else start
    except (ContentError, AttributeError):  # the search reports it; not every system has SEEK_DATA
        return start


def _beginning(file: FoundFile) -> bytes | None:
    """Return the first bytes of a file; None if they cannot be read now, which the search reports if it still holds."""
    try:
        with opened(file.path, file.size) as source:
            return source.read(0, LONGEST_MAGIC)
    except ContentError:
        return None
