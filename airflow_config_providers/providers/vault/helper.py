"""This process's end of ``give_back``: what is to be given back should this process be killed."""

from __future__ import annotations

import itertools
import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import IO, Any, Final

from airflow_config_providers.providers.vault import give_back

_log = logging.getLogger(__name__)

_KEPT_ENVIRON: Final = ("LD_LIBRARY_PATH",)
"""What an interpreter may need to start at all."""

_SECONDS_TO_END: Final = 2.0


@dataclass(frozen=True, slots=True)
class Server:
    """
    Where the helper posts.

    :param verify: as in ``VaultSettings``
    :param proxy: URL; empty for none
    :param login_namespace: in which the login is given back; None for none
    """

    url: str
    namespace: str | None
    verify: bool | str
    cert: tuple[str, str] | None
    proxy: str = field(repr=False)
    login_namespace: str | None = None


class Helper:
    """
    Starts the process with the first thing to give back, and tells it what there is. Thread-safe.

    What cannot be told to it is logged and otherwise as if it had been: this is for the worst case only.

    :param no_fork: held while the process is started: a fork would share the pipe to it
    """

    def __init__(self, server: Server, no_fork: threading.Lock | None = None) -> None:
        self._server = server
        self._no_fork = no_fork or threading.Lock()
        self._lock = threading.RLock()  # a task that is killed calls ``leave`` in a signal handler
        self._keys = itertools.count(1)
        self._held: dict[int, Mapping[str, Any]] = {}
        self._is_left = False
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The id of the process; None where there is none."""
        return None if self._process is None else self._process.pid

    def hold(self, path: str, *, token: str, body: Mapping[str, Any]) -> int:
        """Have ``body`` posted to ``path`` when this process ends; gives a key for ``drop``."""
        key = next(self._keys)
        with self._lock:
            self._held[key] = {"hold": key, "path": path, "token": token, "body": body}
            self._tell([self._held[key]] if self._process is not None else self._begin())
        return key

    def drop(self, key: int) -> None:
        """Have it not posted any more."""
        with self._lock:
            self._held.pop(key, None)
            self._tell([{"drop": key}])

    def leave(self, *, is_left: bool) -> None:
        """Have nothing posted when this process ends, or what is held again."""
        with self._lock:
            self._is_left = is_left
            self._tell([{"leave": is_left}])

    def close(self) -> None:
        """End the process, at once if nothing is held; else it posts what is, which takes it half a minute at most."""
        with self._lock:
            process, self._process = self._process, None
            end = _finish if self._held else _end
            self._held.clear()
        if process is not None:
            end(process)

    def forget(self) -> None:
        """In a forked child: leave the process to the parent, whose end alone it is to wait for."""
        process, self._process = self._process, None
        self._lock = threading.RLock()
        self._held = {}
        if process is not None:
            _let_go(process)

    def _begin(self) -> list[Mapping[str, Any]]:
        """Start the process and give all that it is to know."""
        with self._no_fork:
            self._process = _start()
        return [{"server": _told(self._server)}, {"leave": self._is_left}, *self._held.values()]

    def _tell(self, messages: Iterable[Mapping[str, Any]]) -> None:
        if self._process is None or _written(self._process, messages):
            return
        process, self._process = self._process, None
        _end(process)


def _told(server: Server) -> Mapping[str, Any]:
    names = ("url", "namespace", "login_namespace", "verify", "cert", "proxy")
    return {name: getattr(server, name) for name in names}


def _start() -> subprocess.Popen[bytes] | None:
    interpreter = sys.executable or ""
    if "python" not in Path(interpreter).name:
        return None
    try:
        return subprocess.Popen(  # noqa: S603 - our interpreter and our file
            [interpreter, "-I", "-S", *_program()],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            cwd="/",
            env={name: os.environ[name] for name in _KEPT_ENVIRON if name in os.environ},
            start_new_session=True,
        )
    except OSError as error:
        _log.warning("A login of Vault would outlive a kill: the helper cannot start (%s)", type(error).__name__)
        return None


def _program() -> list[str]:
    """Give how Python runs ``give_back``: its file, or what stands in it, where the package is in a zip."""
    path = Path(give_back.__file__)
    if path.is_file():
        return [str(path)]
    return ["-c", files(give_back.__package__).joinpath(path.name).read_text("utf-8")]


def _written(process: subprocess.Popen[bytes], messages: Iterable[Mapping[str, Any]]) -> bool:
    lines = b"".join(json.dumps(message).encode() + b"\n" for message in messages)
    left = memoryview(lines)
    try:
        while left:
            left = left[_pipe(process).write(left) or 0 :]
    except OSError:
        _log.warning("A login of Vault would outlive a kill: the helper has ended")
        return False
    return True


def _end(process: subprocess.Popen[bytes]) -> None:
    if not _has_ended(process):
        process.kill()
        process.wait()


def _finish(process: subprocess.Popen[bytes]) -> None:
    """Let the process end by itself; nobody waits long for a server that hangs."""
    if not _has_ended(process):
        with suppress(RuntimeError):  # a process that is about to end starts no thread, and leaves no zombie either
            threading.Thread(target=process.wait, name="vault-helper", daemon=True).start()


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Close the pipe to the process, and give it a moment."""
    _pipe(process).close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_SECONDS_TO_END)
    return process.returncode is not None


def _let_go(process: subprocess.Popen[bytes]) -> None:
    _pipe(process).close()  # unbuffered, so there is no lock that another thread may have held
    process.returncode = 0  # no child of ours: not to be waited for


def _pipe(process: subprocess.Popen[bytes]) -> IO[bytes]:
    assert process.stdin is not None  # noqa: S101 - it was asked for
    return process.stdin
