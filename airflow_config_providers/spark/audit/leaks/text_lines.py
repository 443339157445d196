"""The lines of files and pipes that people name on the command line."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from typing import Final

_LONGEST_LINE: Final = 1024 * 1024
_LARGEST: Final = 1024 * 1024 * 1024


def lines_of(path: str, *, largest: int = _LARGEST, longest: int = _LONGEST_LINE) -> Iterator[str]:
    """
    Yield the lines of a file or a pipe, without blanks around them. It does not wait for a pipe without a writer.

    :param longest: the most characters of a line; a longer one comes in parts
    :raises OSError: it cannot be read, or has more than ``largest`` characters, as a device without an end has
    :raises UnicodeDecodeError: it is not text in UTF-8
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
            raise OSError(errno.EPIPE, "It is a pipe without a writer")
