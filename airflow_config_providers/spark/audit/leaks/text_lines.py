"""The lines of files and pipes that people name on the command line."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from typing import Final

from airflow_config_providers.core.named_file import open_named, refuse_silent

_LONGEST_LINE: Final = 1024 * 1024
_LARGEST: Final = 1024 * 1024 * 1024


def lines_of(path: str, *, largest: int = _LARGEST, longest: int = _LONGEST_LINE) -> Iterator[str]:
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
