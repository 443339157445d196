"""Whether two files have the same content, of which Git LFS keeps one elsewhere."""

from __future__ import annotations

import filecmp
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_POINTER: Final = re.compile(rb"version https://git-lfs\.github\.com/spec/v1\noid sha256:([0-9a-f]{64})\nsize (\d+)\n")
"""What Git has in place of such a file. In a revision, it stays: nothing is fetched."""

_LARGEST: Final = 1024
"""How many bytes a pointer has at most."""


def have_same_content(first: str, second: str) -> bool:
    """
    Return whether two files have the same bytes, or one is the pointer to the other.

    :raises OSError: one cannot be read
    """
    if filecmp.cmp(first, second, shallow=False):
        return True
    return any(
        oid == _oid(path, size) for one, path in ((first, second), (second, first)) for oid, size in _pointer(one)
    )


def _pointer(path: str) -> Iterator[tuple[str, int]]:
    """Yield the hash and the size of what the pointer at a path leads to; nothing if it is another file."""
    with Path(path).open("rb") as file:
        found = _POINTER.fullmatch(file.read(_LARGEST + 1))
    if found:
        yield found[1].decode(), int(found[2])


def _oid(path: str, size: int) -> str:
    """Return the hash of a file of that size; empty if it has another one."""
    if Path(path).stat().st_size != size:
        return ""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
