"""Notices at once that files and directories change; they are also read from time to time, so nothing is missed."""

from __future__ import annotations

import logging
import os
import stat
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from airflow_config_providers.core.concurrency.per_process import PerProcess
from airflow_config_providers.core.concurrency.timetable import Start, in_daemon

_log: Final = logging.getLogger(__name__)

_STEP: Final = 250
"""Milliseconds between two looks at what the system has noticed."""

_QUIET: Final = 500
"""Milliseconds after which a row of changes is passed on, even if it goes on."""

_ROUND: Final = 1000
"""Milliseconds after which a watch without changes asks whether it watches the right paths."""

_NEXT_TRY: Final = 10.0
"""Seconds after which files are watched again that could not be, such as while there are too many watches."""

_Touch = Callable[[str], None]


class FileWatch:
    """
    Watches the directories of paths, in a thread that exists only while there are paths. Thread-safe.

    It has one watch of the system, ``inotify`` on Linux, however many follow it: a user has few of them, 128 by
    default. A path whose file system hangs therefore delays what is noticed of all paths; each is also read again.

    Kubernetes renews a mounted secret by switching the link ``..data`` in its directory, which is noticed too. A link
    that is switched further up is noticed within a second; what a network file system does not report is found when
    the path is read again.

    :param start: runs a function in a thread of its own
    """

    def __init__(self, *, start: Start | None = None) -> None:
        self._start = start or in_daemon("config-files")
        self._lock = threading.Lock()
        self._followed: dict[_Touch, frozenset[str]] = {}
        self._has_changed = threading.Event()
        self._in_charge: object | None = None

    def follow(self, paths: Collection[str], touch: _Touch) -> None:
        """Call ``touch(path)`` when one of ``paths`` can have changed, and no longer for those that it had before."""
        with self._lock:
            before, had = self._paths(), self._followed.pop(touch, frozenset())
            if paths:
                self._followed[touch] = frozenset(paths)
            if self._paths() != before:
                self._has_changed.set()
            if paths and self._in_charge is None:
                self._in_charge = self._started()
        for path in before.intersection(paths) - had:  # it can have changed before ``touch`` was known
            touch(path)

    def _paths(self) -> frozenset[str]:
        return frozenset().union(*self._followed.values())

    def _started(self) -> object | None:
        """Start a thread, and return its mark; None if the system has no thread now: the next call tries again."""
        turn = object()
        try:
            self._start(lambda: self._run(turn))
        except RuntimeError as error:
            _warn(error)
            return None
        return turn

    def _run(self, turn: object) -> None:
        is_watching = True
        while paths := self._next(turn):
            try:
                for changed in _changes(paths, self._has_changed):
                    is_watching = True
                    self._tell(changed)
            except BaseException as error:  # noqa: BLE001 - whatever the system lacks, paths are also read without signs
                if is_watching:
                    _warn(error)
                is_watching = False
                self._has_changed.wait(_NEXT_TRY)

    def _next(self, turn: object) -> frozenset[str]:
        """Return the paths to watch; if there is none, or another thread is in charge, the thread ends."""
        with self._lock:
            if self._in_charge not in (turn, None):  # the start of this one was interrupted, and another one started
                return frozenset()
            self._has_changed.clear()
            paths = self._paths()
            self._in_charge = turn if paths else None
            return paths

    def _tell(self, changed: Collection[str]) -> None:
        with self._lock:
            calls = [(touch, path) for touch, paths in self._followed.items() for path in paths.intersection(changed)]
        for touch, path in calls:
            touch(path)


shared_watch: Final = PerProcess(FileWatch)
"""Returns the watch that all providers of a process follow."""


def _warn(error: BaseException) -> None:
    _log.warning("Files are not watched (%s). Changes are found when they are read again.", error)


def _changes(paths: Collection[str], end: threading.Event) -> Iterator[Collection[str]]:
    """
    Yield the paths that can have changed, until ``end`` is set or one of their directories is another one.

    At first that is all of them, because they were not watched before.
    """
    from watchfiles import watch  # noqa: PLC0415 - slow to import, and only subscriptions need it

    _silence_watchfiles()
    watched = {path: _directories(path) for path in paths}  # read before they are watched: a later one is seen as moved
    directories = {directory for some in watched.values() for directory in some}
    if not directories:
        end.wait(_ROUND / 1000)
        return
    changed = set(paths)
    for changes in watch(
        *directories,
        watch_filter=None,
        debounce=_QUIET,
        step=_STEP,
        stop_event=end,
        rust_timeout=_ROUND,
        yield_on_timeout=True,
        recursive=False,
        raise_interrupt=False,
        ignore_permission_denied=True,
    ):
        names = {name for _, name in changes}
        touched = names | {str(Path(name).parent) for name in names}
        changed.update(path for path, some in watched.items() if not touched.isdisjoint(some))
        yield changed
        if not names.isdisjoint(directories) or any(_directories(path) != some for path, some in watched.items()):
            return
        changed = set()


def _silence_watchfiles() -> None:
    """
    Keep watchfiles from logging each change in a directory, unless the level of its logger is set.

    Its lines would be in the task log. If that file is in a watched directory, each line would cause the next one.
    """
    logger = logging.getLogger("watchfiles")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.WARNING)


def _directories(path: str) -> dict[str, tuple[int, int]]:
    """
    Return the directories in which something happens when ``path`` changes: as it is named, and as it really is.

    Each with its device and inode: a watch stays with the directory that had the name when it began.
    """
    named, real = Path(os.path.abspath(path)), Path(os.path.realpath(path))  # noqa: PTH100 - resolve() follows links
    found: dict[str, tuple[int, int]] = {}
    for place in (named, real, named.parent, real.parent):
        with suppress(OSError):
            status = place.stat()
            if stat.S_ISDIR(status.st_mode):
                found[str(place)] = (status.st_dev, status.st_ino)
    return found
