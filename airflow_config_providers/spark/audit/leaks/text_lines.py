"""Lines of text: of files and pipes that people name on the command line, and of files that only this user can read."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from airflow_config_providers.core.named_file import open_named, refuse_silent, whole_file

_LONGEST_LINE: Final = 1024 * 1024
"""The most characters of a line that is read at once."""

_MOST_CHARACTERS: Final = 1024 * 1024 * 1024
"""The most characters of a file or pipe; a device can be without an end."""


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
