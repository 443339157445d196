"""
A process in which Airflow is imported once, and its copies, in which DAG files are imported.

Nothing that DAG files do in one copy can be seen in another: a copy is made before the first of them is imported.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from threading import Lock
from typing import Any, Final, Self

from airflow_config_providers.core.closed_on_exit import ClosedOnExit
from airflow_config_providers.exceptions import ConfigException

_START: Final = 300.0
"""Seconds in which Airflow is imported, on the busiest machine."""

_AHEAD: Final = 60.0
"""Seconds in which Spark's provider is imported once for all files; it takes two. Each file has its own limit."""

_ENVIRONMENT: Final = {
    "AIRFLOW__CORE__DAGBAG_IMPORT_TIMEOUT": "0",  # the limit of this process applies, which nothing can catch
    "AIRFLOW__CORE__DAGBAG_IMPORT_ERROR_TRACEBACKS": "True",
    "AIRFLOW__CORE__DAGBAG_IMPORT_ERROR_TRACEBACK_DEPTH": "100",
}
_CHUNK: Final = 1 << 16
"""The most bytes that are received at once."""

_HASH_SEED: Final = "PYTHONHASHSEED"
"""The variable that decides the order of a set of texts, and so the text that a DAG file makes of one."""

LARGEST_MESSAGE: Final = 1024
"""How many bytes one message to the process, or from it, has at most."""

_SECONDS_TO_END: Final = 10.0
"""How long the process may take to kill its copies; then it is killed itself."""


class AirflowProcess(ClosedOnExit):
    """
    A process that imports Airflow when the first copy is asked for. Threads can share it.

    :param environ: environment variables of the process, besides those of this process
    :param ahead: the longest time in seconds for importing Spark's provider; files that import it do it again if it
        takes longer
    """

    def __init__(self, environ: Mapping[str, str], *, ahead: float = _AHEAD) -> None:
        self._environ = environ
        self._ahead = ahead
        self._lock = Lock()
        self._running: _Running | None = None
        self._is_closed = False

    def copy(self) -> DagWorker:
        """
        Return a copy that has imported no DAG file.

        :raises ConfigException: Airflow cannot be imported, or the process was closed
        """
        with self._lock:
            if self._is_closed:  # a thread can still ask after somebody interrupted the command
                raise ConfigException("DAG files can no longer be read: this was closed. Start the command again.")
            if self._running is not None:
                with suppress(OSError, ValueError):  # a DAG file can end the process, as it can end any other
                    return self._copy(self._running)
                self._end()
            self._running = _Running.started(self._environ, self._ahead)
            with suppress(OSError, ValueError):
                return self._copy(self._running)
        raise _does_not_start()

    def _end_copy(self, pid: int, running: _Running) -> None:
        """
        Kill a copy and what it has started: importing a DAG file leaves nothing to finish.

        :param running: the process that made the copy; another one does not know it
        """
        with self._lock, suppress(OSError, ValueError):
            if self._running is running:
                running.ask({"end": pid})
                return
        with suppress(ProcessLookupError):  # nobody else is there to do it
            os.killpg(pid, signal.SIGKILL)

    def close(self) -> None:
        """End the process and its copies; there will be no others."""
        self._is_closed = True
        with self._lock:
            self._end()

    def _copy(self, running: _Running) -> DagWorker:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                pid = running.ask({"copy": True}, theirs.fileno())
            except BaseException:
                ours.close()
                raise
        return DagWorker(partial(self._end_copy, pid, running), ours)

    def _end(self) -> None:
        if self._running is not None:
            self._running.end()
        self._running = None


class _Running:
    """A process that has imported Airflow, and the socket over which it is asked for copies."""

    def __init__(self, process: subprocess.Popen[bytes], control: socket.socket) -> None:
        self._process = process
        self._control = control

    @classmethod
    def started(cls, environ: Mapping[str, str], ahead: float) -> Self:
        """
        Return a process that is ready.

        :raises ConfigException: Airflow cannot be imported
        """
        control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        control.settimeout(_START)
        with theirs:
            process = subprocess.Popen(  # noqa: S603 - it runs this package, and the other argument is a number
                [sys.executable, "-P", "-m", "airflow_config_providers.lint.dag_worker", str(ahead)],
                env={**os.environ, **_ENVIRONMENT, _HASH_SEED: os.environ.get(_HASH_SEED) or "0", **environ},
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        running = cls(process, control)
        with suppress(OSError, ValueError):
            running._answer()
            return running
        running.end()
        raise _does_not_start()

    def ask(self, message: Mapping[str, Any], *descriptors: int) -> Any:
        """Return the answer to ``message``."""
        socket.send_fds(self._control, [json.dumps(message).encode()], descriptors)
        return self._answer()

    def end(self) -> None:
        """End the process and its copies."""
        self._control.close()  # at which the process kills its copies, and itself
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_SECONDS_TO_END)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _answer(self) -> Any:
        return json.loads(self._control.recv(LARGEST_MESSAGE))


def _does_not_start() -> ConfigException:
    return ConfigException("DAG files cannot be read, because Airflow does not start. Run 'airflow info' to see why.")


class DagWorker:
    """
    A copy, which runs ``dag_worker``.

    :param end: ends the process and those that it started
    :param stream: the socket over which it gets requests and answers them
    """

    def __init__(self, end: Callable[[], None], stream: socket.socket) -> None:
        self._end = end
        self._stream = stream
        self._rest = b""

    def ask(self, request: Mapping[str, Any], seconds: float) -> Any:
        """
        Return the answer to ``request``.

        :raises TimeoutError: there was none in time
        :raises OSError, EOFError: the process has ended
        """
        self._stream.settimeout(seconds)
        self._stream.sendall(json.dumps(request).encode() + b"\n")
        return self._answer(seconds)

    def _answer(self, seconds: float) -> Any:
        end = time.monotonic() + seconds
        line, newline, rest = self._rest.partition(b"\n")
        pieces = [line]
        while not newline:
            piece, newline, rest = self._piece(end - time.monotonic()).partition(b"\n")
            pieces.append(piece)
        self._rest = rest
        return json.loads(b"".join(pieces))

    def _piece(self, seconds: float) -> bytes:
        if seconds <= 0:
            raise TimeoutError
        self._stream.settimeout(seconds)
        if piece := self._stream.recv(_CHUNK):
            return piece
        raise EOFError

    def end(self) -> None:
        """Kill the process and those that it started, and close the socket."""
        self._end()
        self._stream.close()
