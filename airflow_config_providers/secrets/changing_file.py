"""The content of files, read again after they change."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, Final

_SETTLED_AFTER: Final = 2.0
"""Seconds after which another change gets a different modification time, on any file system."""


def state_of(path: str) -> Hashable:
    """
    Return a value that changes when the file at ``path`` is changed or replaced. It follows links.

    :raises OSError: there is no such file, or it is not accessible
    """
    found = Path(path).stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


class ChangingFiles:
    """
    Keeps what was read from files until they change. Safe to use from several threads.

    :param clock: returns the seconds since the epoch
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._kept: dict[Hashable, tuple[Hashable, Any]] = {}

    def read(self, path: str, load: Callable[[str], Any]) -> Any:
        """
        Return ``load(path)``, or its previous result if the file has not changed since.

        :raises OSError: the file is not accessible
        :raises Exception: what ``load`` raises
        """
        state = state_of(path)
        kept = self._kept.get((path, load))
        if kept is not None and kept[0] == state:
            return kept[1]
        content = load(path)
        if self._clock() - Path(path).stat().st_mtime > _SETTLED_AFTER:
            self._kept[path, load] = (state, content)
        return content
