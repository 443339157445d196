"""
Processes of Python that start in a third of the time: children of one that has imported what Airflow imports of others.

Nothing of Airflow and of this project is imported before, unless a test starts a `Parent` that does. A child imports
both itself, in its own environment, as any process does. What a process imports of other packages is for tests of a
process that is not forked, and so is what others see of the environment of a process: the system shows that of the
first one.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import runpy
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
PACKAGES: Final = (
    "aiosqlite",
    "alembic.command",
    "argcomplete",
    "cryptography.fernet",
    "fsspec.implementations.local",
    "httpcore",
    "httpx",
    "importlib_metadata",
    "itsdangerous",
    "jinja2.nativetypes",
    "jsonschema",
    "lazy_object_proxy",
    "libcst",
    "methodtools",
    "msgspec",
    "opentelemetry.sdk.trace.export",
    "opentelemetry.trace.propagation.tracecontext",
    "pathspec",
    "pendulum",
    "pluggy",
    "pydantic.json_schema",
    "pydantic.type_adapter",
    "rich_argparse",
    "sqlalchemy.dialects.mysql",
    "sqlalchemy.dialects.postgresql",
    "sqlalchemy.dialects.sqlite",
    "sqlalchemy.ext.asyncio",
    "sqlalchemy.orm",
    "structlog",
    "tabulate",
    "tenacity",
    "upath.core",
    "uuid6",
    "yaml",
)
"""What takes Airflow longest to import. A package that is not installed, or not with every Airflow, is left out."""

SERVERS: Final = (
    "aiohttp",
    "annotated_types",
    "cadwyn",
    "croniter",
    "cryptography.x509",
    "dill",
    "email_validator",
    "fastapi",
    "httpx2",
    "pydantic_settings",
    "requests",
    "uvicorn",
    "uvloop",
    "websockets",
    "werkzeug.utils",
)
"""What only Airflow's servers import, too."""

STREAMS: Final = ("stdin", "stdout", "stderr")

SELDOM: Final = (50_000, 20, 20)
"""How seldom a server searches for garbage: while it starts it makes a million objects, all of which stay."""


class Parent:
    """
    The process that is forked, for one child at a time that is waited for, and any number that go on.

    It ends with this process.

    :param first: a script that it runs first, so that no child needs to do the same
    :param env: the environment of that script
    """

    def __init__(self, first: str = "", env: Mapping[str, str] | None = None) -> None:
        command = [sys.executable, "-m", __name__, first]
        self._process = subprocess.Popen(
            command, cwd=ROOT, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._lock = threading.Lock()
        atexit.register(self.end)

    def ask(self, **order: Any) -> int | None:
        """Send an order to the process, and return its answer: the exit code or the id of a child."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock:
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
            answer: int | None = json.loads(self._process.stdout.readline())
        return answer

    def end(self) -> None:
        self._process.communicate()


class Process:
    """
    A process that goes on, the first of a session of its own.

    :param pid: its id
    """

    def __init__(self, parent: Parent, pid: int) -> None:
        self.pid = pid
        self._parent = parent
        self._code: int | None = None

    def poll(self) -> int | None:
        """Return its exit code; None if it still runs."""
        if self._code is None:
            self._code = self._parent.ask(ended=self.pid)
        return self._code

    def wait(self, timeout: float) -> int:
        """
        Return its exit code when it has ended.

        :raises subprocess.TimeoutExpired: it still runs after ``timeout`` seconds
        """
        until = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > until:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
            time.sleep(0.05)
        return code


@functools.cache
def shared_parent() -> Parent:
    """Return the one that has run no script."""
    return Parent()


def run(
    *words: str, env: Mapping[str, str], cwd: Path = ROOT, given: str = "", parent: Parent | None = None
) -> subprocess.CompletedProcess[str]:
    """
    Return what ``python *words`` did, as ``subprocess.run`` does.

    :param words: ``-c`` and a script, ``-m`` and a module, or a file, and its arguments
    :param given: standard input
    :param parent: what is forked; None for one that has run no script
    """
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder, name) for name in STREAMS}
        files["stdin"].write_text(given)
        streams = {name: str(file) for name, file in files.items()}
        code = (parent or shared_parent()).ask(words=words, env=dict(env), cwd=str(cwd), streams=streams)
        assert code is not None
        out, err = files["stdout"].read_text(), files["stderr"].read_text()
    return subprocess.CompletedProcess([sys.executable, *words], code, out, err)


def start(*words: str, env: Mapping[str, str], cwd: Path, output: Path) -> Process:
    """
    Start ``python *words``, as a server of Airflow.

    :param output: of both its streams
    """
    streams = {"stdin": os.devnull, "stdout": str(output), "stderr": str(output)}
    output.write_bytes(b"")
    pid = shared_parent().ask(words=words, env=dict(env), cwd=str(cwd), streams=streams, goes_on=True)
    assert pid is not None
    return Process(shared_parent(), pid)


def _become(
    words: Sequence[str], env: Mapping[str, str], cwd: str, streams: Mapping[str, str], *, goes_on: bool = False
) -> None:
    """Do in this process what ``python *words`` does."""
    if goes_on:
        gc.set_threshold(*SELDOM)
        gc.enable()
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    for number, name in enumerate(STREAMS):
        os.dup2(os.open(streams[name], os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), number)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - the former has read ahead
    tempfile.tempdir = None  # which is another one in another environment
    sys.path[:1] = [cwd, *(path for path in env.get("PYTHONPATH", "").split(os.pathsep) if path not in {"", *sys.path})]
    kind, *arguments = words
    sys.argv = [kind, *arguments[kind in {"-c", "-m"} :]]
    if kind == "-c":
        exec(compile(arguments[0], "<string>", "exec"), vars(sys.modules["__main__"]))
    elif kind == "-m":
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(kind, run_name="__main__")


def _next_job(first: str) -> dict[str, Any] | None:
    """Return the job of this process if it is a child, and None if it is the parent and there is nothing left to do."""
    gc.disable()  # few children live long enough for it to pay
    _load(PACKAGES)
    with contextlib.redirect_stdout(sys.stderr):  # only answers are written to standard output
        exec(first, {})
    for line in sys.stdin:
        order: dict[str, Any] = json.loads(line)
        if "ended" in order:
            _answer(_exit_code(order["ended"], os.WNOHANG))
            continue
        goes_on = order.get("goes_on", False)
        if goes_on:
            _load(SERVERS)
        child = os.fork()
        if not child:
            if goes_on:
                os.setsid()
            gc.freeze()  # what is there is never searched
            atexit.register(gc.freeze)  # the search for garbage at the end of a process would take a second
            return order
        _answer(child if goes_on else _exit_code(child))
    return None


def _load(packages: Sequence[str]) -> None:
    for package in packages:
        with contextlib.suppress(ImportError):
            importlib.import_module(package)


def _answer(found: int | None) -> None:
    print(json.dumps(found), flush=True)


def _exit_code(child: int, options: int = 0) -> int | None:
    """Return the exit code of a child; None if it still runs."""
    ended, status = os.waitpid(child, options)
    return os.waitstatus_to_exitcode(status) if ended else None


if __name__ == "__main__" and (job := _next_job(sys.argv[1])):
    _become(**job)
