"""The processes that spark-submit has started, such as a Python driver, which do not end with it."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

import psutil

_SECONDS_TO_FINISH: Final = 5.0
"""How long a process may take to end when spark-submit has ended, before it is killed."""

_SECONDS_TO_DIE: Final = 1.0
"""How long to wait for the end of a process that was killed."""

_SECONDS_BETWEEN_LOOKS: Final = 0.05
"""How long to sleep before looking again which processes go on."""


class ProcessFamily:
    """
    The processes below spark-submit. They are recorded while it runs: after it ends, nothing links them to it.

    One that has left its parent before is out of reach. A process that got the id of one that has ended is never
    signalled: psutil compares the times at which they began. Usable from several threads and from a signal handler.
    """

    __slots__ = ("_members",)

    def __init__(self) -> None:
        self._members: frozenset[psutil.Process] = frozenset()

    def end(self, process: subprocess.Popen[str], patience: float) -> list[int]:
        """
        Have ``process`` end by itself, then those below it, and kill what goes on.

        :param patience: the seconds that ``process`` may take
        :return: the ids of those that could not be ended, such as processes of another user
        """
        self._note(process)
        process.terminate()
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            self._note(process)
            process.kill()
        self._note()
        _signal(self._members, psutil.Process.terminate)
        self._wait(_SECONDS_TO_FINISH)
        self._note()
        _signal(self._members, psutil.Process.kill)
        return [member.pid for member in self._wait(_SECONDS_TO_DIE)]

    @contextmanager
    def killed(self, process: subprocess.Popen[str] | None) -> Iterator[None]:
        """Kill what is below ``process`` before the block, which kills ``process``, and wait for it afterwards."""
        with _stopped(process):
            self._stop_below(process)
            _signal(self._members, psutil.Process.kill)
            yield
        self._wait(_SECONDS_TO_DIE)

    def _stop_below(self, process: subprocess.Popen[str] | None) -> None:
        """Note and stop what is below ``process``, until nothing is left that could start another."""
        stopped: frozenset[psutil.Process] = frozenset()
        self._note(process)
        while new := self._members - stopped:
            _signal(new, psutil.Process.suspend)
            stopped = self._members
            self._note(process)

    def _note(self, process: subprocess.Popen[str] | None = None) -> None:
        """Note what is below ``process``, and what those that are known have started."""
        found = {child for member in self._members for child in _below(member)}
        self._members = self._members.union(found, _children(process))

    def _wait(self, seconds: float) -> list[psutil.Process]:
        """Wait until all have ended, but not longer than ``seconds``, and return those that go on."""
        until = time.monotonic() + seconds
        while (left := [*filter(_goes_on, self._members)]) and time.monotonic() < until:
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        return left


@contextmanager
def _stopped(process: subprocess.Popen[str] | None) -> Iterator[None]:
    """Stop ``process`` during a block, so that a script starts nothing more; what is not killed by then goes on."""
    if process is None:
        yield
        return
    _send(process, signal.SIGSTOP)
    try:
        yield
    finally:
        _send(process, signal.SIGCONT)


def _send(process: subprocess.Popen[str], number: signal.Signals) -> None:
    with suppress(PermissionError):  # it is another user's
        process.send_signal(number)


def _children(process: subprocess.Popen[str] | None) -> list[psutil.Process]:
    if process is None or process.returncode is not None:
        return []
    try:
        found = _below(psutil.Process(process.pid))
    except psutil.Error:
        return []
    return found if process.returncode is None else []  # otherwise, another process can have its id by now


def _below(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.Error:  # it has ended
        return []


def _signal(processes: Iterable[psutil.Process], send: Callable[[psutil.Process], None]) -> None:
    for process in processes:
        with suppress(psutil.Error):  # it has ended, or is another user's
            send(process)


def _goes_on(process: psutil.Process) -> bool:
    """Return whether ``process`` runs; a zombie has ended, even if nothing collects it, as in many containers."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
