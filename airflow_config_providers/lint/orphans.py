"""Programs that outlive the process that started them, such as in a session of their own. Linux only."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Container, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

_SET_CHILD_SUBREAPER: Final = 36
"""``PR_SET_CHILD_SUBREAPER`` of ``prctl``."""

_SECONDS: Final = 1.0
"""The longest time for ending orphans, such as those of another user, which cannot be killed."""


def keep_orphans() -> None:
    """Let this process be the parent of descendants whose own parent ends, until they end."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children() -> frozenset[int]:
    """Return the ids of the processes whose parent is this process; none where the system does not say it."""
    return frozenset(pid for pid in _processes() if _is_child(pid))


def end_orphans(but: Container[int]) -> None:
    """
    Kill the children of this process, and what they leave behind.

    :param but: the ids of the children that go on
    """
    end = time.monotonic() + _SECONDS
    while (found := [pid for pid in children() if pid not in but]) and time.monotonic() < end:
        for pid in found:
            with suppress(ProcessLookupError, PermissionError, ChildProcessError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.001)


def _processes() -> Iterator[int]:
    """Yield the ids of processes that could be children."""
    own = str(os.getpid())
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            _, parent, *_ = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
            if parent == own:
                yield int(folder.name)


def _is_child(pid: int) -> bool:
    """Return whether a process is a child that nobody has waited for, so that no other process can have its id."""
    try:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True
