"""
Finding and opening a file without being led out of some directories.

Two steps: ``real_path`` follows the symbolic links as far as they stay inside, and ``open_real`` opens what it found
and follows no link at all. So a link that is swapped in between the two is an error and leads nowhere.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Final

Steps = tuple[str, ...]
"""An absolute path as its names; ``/`` is the empty tuple."""

_MOST_LINKS: Final = 40
_ENTER: Final = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def steps(path: str | PurePath) -> Steps:
    """Give the names that ``path`` is made of; ``..`` is kept."""
    pure = PurePath(path)
    return pure.parts[1:] if pure.is_absolute() else pure.parts


def is_inside(path: Steps, roots: Collection[Steps]) -> bool:
    """Tell whether ``path`` is one of ``roots`` or below one, name by name."""
    return any(path[: len(root)] == root for root in roots)


def real_path(path: Steps, roots: Collection[Steps]) -> Steps | None:
    """
    Replace the symbolic links in ``path``; None where that leads out of ``roots`` or goes round in circles.

    Looks at nothing outside the roots. The path need not exist.

    :param roots: real paths themselves
    """
    todo = deque(path)
    found: Steps = ()
    links = 0
    while todo:
        step = todo.popleft()
        if step == "..":
            found = found[:-1]
            continue
        found += (step,)
        target = _link(found) if is_inside(found, roots) else None
        if target is None:
            continue
        links += 1
        if links > _MOST_LINKS:
            return None
        found = () if target.startswith("/") else found[:-1]
        todo.extendleft(reversed(steps(target)))
    return found if is_inside(found, roots) else None


@contextmanager
def open_real(path: Steps, *, is_kind: Callable[[int], bool]) -> Iterator[int | None]:
    """
    Open ``path`` for reading, through no link; None where it is not of the kind asked for.

    Never waits, and opens neither a FIFO nor a device.

    :param is_kind: ``stat.S_ISREG`` or ``stat.S_ISDIR``
    :return: a context that gives a file descriptor and closes it
    :raises OSError: whatever the system says; ``ELOOP`` for a link in the last place
    """
    name = path[-1] if path else "."
    with _directory(path[:-1]) as parent:
        mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
        if stat.S_ISLNK(mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        descriptor = os.open(name, _READ, dir_fd=parent) if is_kind(mode) else None
    if descriptor is None:
        yield None
        return
    try:
        yield descriptor if is_kind(os.fstat(descriptor).st_mode) else None
    finally:
        os.close(descriptor)


@contextmanager
def _directory(path: Steps) -> Iterator[int]:
    directory = os.open("/", _ENTER)
    try:
        for step in path:
            inner = os.open(step, _ENTER, dir_fd=directory)
            os.close(directory)
            directory = inner
        yield directory
    finally:
        os.close(directory)


def _link(path: Steps) -> str | None:
    try:
        return str(Path("/", *path).readlink())
    except OSError:
        return None
