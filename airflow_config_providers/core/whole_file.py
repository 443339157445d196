"""A file that readers see only when it is whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO


@contextmanager
def whole_file(target: Path, *, mode: int = 0o666) -> Iterator[BinaryIO]:
    """
    Yield a new file beside ``target``, which takes its place when the block ends without an error.

    :param mode: the rights of the file, of which the umask can take some
    :raises OSError: it cannot be written; the old one stays
    """
    beside = target.with_name(f".{token_hex(16)}")
    try:
        with open(beside, "xb", opener=partial(os.open, mode=mode)) as file:
            yield file
        beside.replace(target)
    finally:
        with suppress(OSError):  # after an error, which is what matters, or because it has taken the place
            beside.unlink()
