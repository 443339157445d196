"""
Files and pipes that people name, and their lines.

Reading one never goes on without end, and never waits for a missing writer. Others see a new one only when it is whole.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final

LARGEST_CONFIG_FILE: Final = 1024 * 1024
"""The most bytes of a file of configuration."""

_LONGEST_LINE: Final = 1024 * 1024
"""The most characters of a line that is read at once."""

_MOST_CHARACTERS: Final = 1024 * 1024 * 1024
"""The most characters of a file or pipe; a device can be without an end."""


def read_named(path: str, *, largest: int = LARGEST_CONFIG_FILE) -> bytes:
    """
    Return the content of a file, or of a pipe such as ``/dev/stdin`` or that of ``<(...)``.

    :param largest: the most bytes that it can have
    :raises OSError: it cannot be read, is larger, as a device without an end is, or is a pipe without a writer
    """
    with os.fdopen(open_named(path), "rb") as file:
        content = file.read(largest + 1)
        if not content:
            refuse_silent(file.fileno())
    if len(content) > largest:
        raise OSError(errno.EFBIG, f"it has more than {largest} bytes")
    return content


def open_named(path: str) -> int:
    """
    Return a file descriptor for reading ``path``. Opening does not wait for the writer of a pipe; reading does.

    :raises OSError: the error of the system, also for a directory
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):  # os.fdopen would refuse it, and leave it open
        os.close(descriptor)
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    os.set_blocking(descriptor, True)
    return descriptor


def state_of(path: str) -> Hashable:
    """
    Return a value that changes when the file at ``path`` is changed or replaced. It follows links.

    :raises OSError: there is no such file, or it is not accessible
    """
    found = os.stat(path)  # noqa: PTH116 - a Path takes longer
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def refuse_silent(descriptor: int) -> None:
    """
    Refuse a pipe that has ended without content: without a writer it ends at once, and looks like an empty file.

    :raises OSError: it is a pipe
    """
    if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        raise OSError(errno.EPIPE, "It is a pipe without a writer, or an empty one")


@contextmanager
def whole_file(target: Path, *, mode: int = 0o666) -> Iterator[BinaryIO]:
    """
    Yield a new file beside ``target``, which takes its place when the block ends without an error.

    :param mode: the rights of the file, of which the umask can take some
    :raises OSError: it cannot be written; the old one stays
    """
    beside = target.with_name(f".{os.urandom(16).hex()}")
    try:
        with open(beside, "xb", opener=partial(os.open, mode=mode)) as file:
            yield file
        beside.replace(target)
    finally:
        with suppress(OSError):  # after an error, which is what matters, or because it has taken the place
            beside.unlink()


def lines_of(path: str, *, largest: int = _MOST_CHARACTERS, longest: int = _LONGEST_LINE) -> Iterator[str]:
    """
    Yield the lines of a file or a pipe, without blanks around them. It does not wait for a pipe without a writer.

    :param longest: the most characters of a line; a longer one comes in parts
    :raises OSError: it cannot be read, or has more than ``largest`` characters, as a device without an end has
    :raises UnicodeDecodeError: it is not text in UTF-8
    """
    with os.fdopen(open_named(path), encoding="utf-8") as file:
        size = 0
        while line := file.readline(longest):
            size += len(line)
            if size > largest:
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
            yield line.strip()
        if not size:
            refuse_silent(file.fileno())


def replace_lines(target: Path, lines: Iterable[str]) -> None:
    """
    Write a file beside the old one that only this user can read, and put it in its place.

    :raises OSError: it cannot be written; the old one stays
    """
    with whole_file(target, mode=0o600) as file:
        file.writelines(f"{line}\n".encode() for line in lines)
