"""
The end of spark-submit and of the processes that it has started.

A Python driver does not end with it. A kill waits until spark-submit has reported which driver it started.
"""

from __future__ import annotations

import signal
import subprocess
import threading
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

SECONDS_TO_SAY: Final = 3.0
"""How long spark-submit may continue. Airflow ends the process of a task 5 seconds after it asked for its end."""


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


class LateKill:
    """
    Ends spark-submit after a while, unless it has reported before then which driver it started.

    :param seconds: how long it may take to report that
    """

    __slots__ = ("_seconds", "_timer")

    def __init__(self, seconds: float = SECONDS_TO_SAY) -> None:
        self._seconds = seconds
        self._timer: threading.Timer | None = None

    @property
    def is_due(self) -> bool:
        """Whether a kill was asked for that has not happened yet."""
        return self._timer is not None

    def ask(self, process: subprocess.Popen[str]) -> None:
        """Let ``process`` go on for the time that is left since the first call."""
        if self._timer is None:
            self._timer = threading.Timer(self._seconds, process.kill)
            self._timer.daemon = True
            try:
                self._timer.start()
            except RuntimeError:  # no thread can be started, so nothing would end it later
                process.kill()

    def forget(self) -> None:
        """Note that the job was killed, or no longer has to be."""
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
