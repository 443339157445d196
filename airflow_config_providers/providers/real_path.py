"""
Find and open a file without being led out of some directories.

Two steps: ``real_path`` follows the symbolic links as far as they stay inside, and ``open_real`` opens what it found
and follows no link at all. So a link that is swapped in between the two steps is an error and leads nowhere.
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

Link = Callable[[Steps], str | None]
"""Returns where the symbolic link at a path leads; None if there is no link."""

_MOST_LINKS: Final = 40
"""How many symbolic links are followed, as many as Linux follows."""

DEEPEST: Final = 256
"""The most names in a path: with thousands, looking for a link at each of them would take minutes and much memory."""

_ENTER: Final = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def steps(path: str | PurePath) -> Steps:
    """Return the names that ``path`` is made of; ``..`` is kept."""
    pure = PurePath(path)
    return pure.parts[1:] if pure.is_absolute() else pure.parts


def is_inside(path: Steps, roots: Collection[Steps]) -> bool:
    """Return whether ``path`` is one of ``roots`` or below one, name by name."""
    return any(path[: len(root)] == root for root in roots)


def link_target(path: Steps) -> str | None:
    """Return where the symbolic link at ``path`` leads; None if there is no link."""
    try:
        return str(Path("/", *path).readlink())
    except OSError:
        return None


class LinksReadOnce:
    """
    Reads each symbolic link once, and returns the same from then on.

    :param read: reads a link
    """

    def __init__(self, read: Link = link_target) -> None:
        self._read = read
        self._known: dict[Steps, str | None] = {}

    def __call__(self, path: Steps) -> str | None:
        """Return where the symbolic link at ``path`` led when it was first read."""
        if path not in self._known:
            self._known[path] = self._read(path)
        return self._known[path]

    def are_current(self) -> bool:
        """Return whether all links still lead where they led."""
        return all(self._read(path) == target for path, target in self._known.items())


def real_path(path: Steps, roots: Collection[Steps], *, below: Steps = (), link: Link = link_target) -> Steps | None:
    """
    Return ``path`` without symbolic links; None if they lead out of ``roots``, in circles or below ``DEEPEST`` names.

    Looks at nothing outside the roots. The path need not exist.

    :param roots: real paths themselves
    :param below: where ``path`` begins, a real path itself
    :param link: reads a symbolic link
    """
    todo = deque(path)
    found = below
    links = 0
    while todo:
        step = todo.popleft()
        if step == "..":
            found = found[:-1]
            continue
        found += (step,)
        if len(found) > DEEPEST:
            return None
        target = link(found) if is_inside(found, roots) else None
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
    Open ``path`` for reading, through no link; None if it is not of that kind.

    Never waits, and opens neither a FIFO nor a device.

    :param is_kind: ``stat.S_ISREG`` or ``stat.S_ISDIR``
    :return: a context with a file descriptor, which it closes
    :raises OSError: the error of the system; ``ELOOP`` for a link in the last place
    """
    with open_directory(path[:-1]) as parent, open_in(parent, path[-1] if path else ".", is_kind=is_kind) as descriptor:
        yield descriptor


@contextmanager
def open_in(directory: int, name: str, *, is_kind: Callable[[int], bool]) -> Iterator[int | None]:
    """
    Open ``name`` in an open directory, as ``open_real`` does.

    :param directory: a file descriptor
    """
    descriptor = descriptor_in(directory, name, is_kind=is_kind)
    try:
        yield descriptor
    finally:
        if descriptor is not None:
            os.close(descriptor)


def descriptor_in(directory: int, name: str, *, is_kind: Callable[[int], bool]) -> int | None:
    """Do the same as ``open_in``, but leave closing to the caller, which takes less time for millions of files."""
    mode = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
    if stat.S_ISLNK(mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    if not is_kind(mode):
        return None
    descriptor = os.open(name, _READ, dir_fd=directory)
    is_right = False
    try:
        is_right = is_kind(os.fstat(descriptor).st_mode)
    finally:
        if not is_right:
            os.close(descriptor)
    return descriptor if is_right else None


@contextmanager
def open_directory(path: Steps) -> Iterator[int]:
    """
    Open a directory to look into, through no link.

    :return: a context with a file descriptor for ``dir_fd``, which it closes
    :raises OSError: the error of the system
    """
    directory = os.open("/", _ENTER)
    try:
        for step in path:
            inner = os.open(step, _ENTER, dir_fd=directory)
            os.close(directory)
            directory = inner
        yield directory
    finally:
        os.close(directory)
