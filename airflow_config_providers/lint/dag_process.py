"""
A process in which Airflow is imported once, and its copies, in which DAG files are imported.

Nothing that DAG files do in one copy can be seen in another: a copy is made before the first of them is imported.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from threading import Lock
from typing import Any, Final

from airflow_config_providers.core.closing import ClosedOnExit
from airflow_config_providers.exceptions import ConfigException

_START: Final = 300.0
"""Seconds in which Airflow is imported, on the busiest machine."""

_ENVIRONMENT: Final = {
    "AIRFLOW__CORE__DAGBAG_IMPORT_TIMEOUT": "0",  # the limit of this process applies, which nothing can catch
    "AIRFLOW__CORE__DAGBAG_IMPORT_ERROR_TRACEBACKS": "True",
    "AIRFLOW__CORE__DAGBAG_IMPORT_ERROR_TRACEBACK_DEPTH": "100",
}
_CHUNK: Final = 1 << 16

_LARGEST_MESSAGE: Final = 1024

_SECONDS_TO_END: Final = 10.0
"""In which the process kills its copies; then it is killed itself."""


class AirflowProcess(ClosedOnExit):
    """
    A process that imports Airflow when the first copy is asked for. Threads can share it.

    :param environ: environment variables of the process, besides those of this process
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def copy(self) -> DagWorker:
        """
        Return a copy that has imported no DAG file.

        :raises ConfigException: Airflow cannot be imported
        """
        with self._lock:
            if self._process is not None:
                with suppress(OSError, ValueError):  # a DAG file can end the process, as it can end any other
                    return self._copy()
                self._end()
            self._start()
            with suppress(OSError, ValueError):
                return self._copy()
        raise _does_not_start()

    def end_copy(self, pid: int) -> None:
        """Kill a copy and what it has started: importing a DAG file leaves nothing to finish."""
        with self._lock, suppress(OSError, ValueError):
            self._ask({"end": pid})
            return
        with suppress(ProcessLookupError):  # nobody else is there to do it
            os.killpg(pid, signal.SIGKILL)

    def close(self) -> None:
        """End the process and its copies."""
        with self._lock:
            self._end()

    def _start(self) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "airflow_config_providers.lint.dag_worker"],
                env={**os.environ, **_ENVIRONMENT, **self._environ},
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        self._control.settimeout(_START)
        with suppress(OSError, ValueError):
            self._answer()
            return
        self._end()
        raise _does_not_start()

    def _copy(self) -> DagWorker:
        their_requests, requests = os.pipe()
        answers, their_answers = os.pipe()
        try:
            pid = self._ask({"copy": True}, their_requests, their_answers)
        except BaseException:
            os.close(requests)
            os.close(answers)
            raise
        finally:
            os.close(their_requests)
            os.close(their_answers)
        return DagWorker(self, pid, requests, answers)

    def _ask(self, message: Mapping[str, Any], *descriptors: int) -> Any:
        if self._control is None:
            raise OSError
        socket.send_fds(self._control, [json.dumps(message).encode()], descriptors)
        return self._answer()

    def _answer(self) -> Any:
        assert self._control is not None  # noqa: S101 - who asks has looked
        return json.loads(self._control.recv(_LARGEST_MESSAGE))

    def _end(self) -> None:
        if self._control is not None:
            self._control.close()  # at which the process kills its copies, and itself
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_SECONDS_TO_END)
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._process = self._control = None


def _does_not_start() -> ConfigException:
    return ConfigException("DAG files cannot be read, because Airflow does not start. Run 'airflow info' to see why.")


class DagWorker:
    """
    A copy, which runs ``dag_worker``.

    :param origin: the process of which it is a copy
    :param requests: a descriptor to which requests are written
    :param answers: a descriptor from which answers are read
    """

    def __init__(self, origin: AirflowProcess, pid: int, requests: int, answers: int) -> None:
        self._origin = origin
        self._pid = pid
        self._requests = open(requests, "wb", buffering=0)  # noqa: SIM115 - until its end
        self._answers = open(answers, "rb", buffering=0)  # noqa: SIM115 - as above
        self._rest = b""

    def ask(self, request: Mapping[str, Any], seconds: float) -> Any:
        """
        Return the answer to ``request``.

        :raises TimeoutError: there was none in time
        :raises EOFError: the process has ended
        """
        left = json.dumps(request).encode() + b"\n"
        while left:
            left = left[self._requests.write(left) :]
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
        with selectors.DefaultSelector() as selector:
            selector.register(self._answers, selectors.EVENT_READ)
            if seconds <= 0 or not selector.select(seconds):
                raise TimeoutError
        if piece := self._answers.read(_CHUNK):
            return piece
        raise EOFError

    def end(self) -> None:
        """Kill the process and those that it started, if it was not done before."""
        if self._requests.closed:
            return
        self._requests.close()
        self._origin.end_copy(self._pid)
        self._answers.close()
