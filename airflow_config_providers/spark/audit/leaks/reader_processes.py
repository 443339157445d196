"""
Processes that read files for this one.

A library in C++ can end its process, or fill the memory, if a file is broken or made to do so. No other file suffers.
"""

from __future__ import annotations

import os
import resource
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, TypeVar

from airflow_config_providers.core.closed_on_exit import ClosedOnExit
from airflow_config_providers.spark.audit.leaks.open_file import ContentError, OpenFile

_Job = TypeVar("_Job")
_Found = TypeVar("_Found")

MOST_MEMORY: Final = 4 * 1024**3
"""How many bytes of addresses a process may use in addition to those of its parent."""

_FORKS: Final = threading.Lock()
"""Held so that no other child inherits a pipe whose closing shows that a child has ended."""

_STATM: Final = "/proc/self/statm"


class Readers(ClosedOnExit, Generic[_Job, _Found]):
    """
    Does jobs in child processes, for which this one reads the files.

    So they need no connection to a store, nor anything that another thread may hold at the fork. They start when they
    are needed, go on with the next job, and end with this object. Several threads may use it, each with its own child.

    :param work: does one job with one file. It must not raise an error; what it takes and returns is pickled
    :param prepare: is called before a child starts, to import what all need
    """

    def __init__(
        self, work: Callable[[OpenFile, _Job], _Found], *, prepare: Callable[[], object] = lambda: None
    ) -> None:
        self._work = work
        self._prepare = prepare
        self._idle: list[_Child] = []

    def read(self, source: OpenFile, job: _Job, tick: Callable[[int], None]) -> _Found:
        """
        Return the result of a job.

        :param tick: called with the number of bytes that were read
        :raises ContentError: the process ended without a result
        """
        child = self._idle_one() or self._started()
        is_idle = False
        try:
            found: _Found = child.answer(source, job, tick)
            is_idle = True
            return found
        except (EOFError, ConnectionError):
            pass
        finally:
            if is_idle:
                self._idle.append(child)
            else:
                child.close()
        raise ContentError("The process that read it ended without a result, so it is broken, or made to do that.")

    def close(self) -> None:
        """End the processes."""
        while self._idle:
            self._idle.pop().close()

    def _idle_one(self) -> _Child | None:
        with suppress(IndexError):
            return self._idle.pop()
        return None

    def _started(self) -> _Child:
        self._prepare()
        with _FORKS:
            here, there = Pipe()
            process = os.fork()
            if not process:
                here.close()
                _serve(there, self._work)
            there.close()
        return _Child(process, here)


@dataclass(frozen=True, slots=True)
class _Request:
    at: int
    size: int


@dataclass(frozen=True, slots=True)
class _Child:
    process: int
    connection: Connection

    def answer(self, source: OpenFile, job: object, tick: Callable[[int], None]) -> Any:
        """Read for the child, and return what it has found."""
        self.connection.send(job)
        while isinstance(message := self.connection.recv(), _Request):
            try:
                data = source.read(message.at, message.size)
                tick(len(data))
                self.connection.send_bytes(b"+" + data)
            except ContentError as error:
                self.connection.send_bytes(b"-" + str(error).encode())
        return message

    def close(self) -> None:
        """End the process. Without its parent, it ends by itself."""
        self.connection.close()
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)


@dataclass(frozen=True, slots=True)
class _AskedFile:
    """A file that the parent reads."""

    parent: Connection
    is_far: ClassVar[bool] = False

    def read(self, at: int, size: int) -> bytes:
        """
        Return up to ``size`` bytes from the offset ``at``.

        :raises ContentError: the file cannot be read
        """
        self.parent.send(_Request(at, size))
        answer = self.parent.recv_bytes()
        if answer[:1] == b"-":
            raise ContentError(answer[1:].decode())
        return answer[1:]


def _serve(parent: Connection, work: Callable[[OpenFile, Any], Any]) -> None:
    """Do what the parent asks for, and end without what a process does at its end: that is the parent's."""
    try:
        _limit_memory()
        while True:
            parent.send(work(_AskedFile(parent), parent.recv()))
    finally:
        os.kill(os.getpid(), signal.SIGKILL)


def _limit_memory() -> None:
    """Make allocations fail that a hostile file asks for, so that the rest of the machine goes on."""
    with suppress(OSError, ValueError):  # no /proc, or a limit that is lower already
        pages = int(Path(_STATM).read_text("ascii").split()[0])
        most = pages * resource.getpagesize() + MOST_MEMORY
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
