"""
Processes of Python that start in a third of the time: children of one that has imported what Airflow imports of others.

Nothing of Airflow and of this project is imported before, unless a test starts a `Parent` that does. A child imports
both itself, in its own environment, as any process does. What a process imports of other packages is for tests of a
process that is not forked.
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

STREAMS: Final = ("stdin", "stdout", "stderr")


class Parent:
    """
    The process that is forked, for one child at a time. It ends with this process.

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

    def run(self, job: Mapping[str, Any]) -> int:
        """Have a child do ``job``, and return its exit code."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock:
            self._process.stdin.write(json.dumps(job) + "\n")
            self._process.stdin.flush()
            return int(self._process.stdout.readline())

    def end(self) -> None:
        self._process.communicate()


@functools.cache
def _parent() -> Parent:
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
        code = (parent or _parent()).run({"words": words, "env": dict(env), "cwd": str(cwd), "streams": streams})
        out, err = files["stdout"].read_text(), files["stderr"].read_text()
    return subprocess.CompletedProcess([sys.executable, *words], code, out, err)


def _become(words: Sequence[str], env: Mapping[str, str], cwd: str, streams: Mapping[str, str]) -> None:
    """Do in this process what ``python *words`` does."""
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    for number, name in enumerate(STREAMS):
        os.dup2(os.open(streams[name], os.O_RDWR | os.O_CREAT, 0o600), number)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - the former has read ahead
    sys.path[0] = cwd
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
    gc.disable()  # no child lives long enough for it to pay
    for package in PACKAGES:
        with contextlib.suppress(ImportError):
            importlib.import_module(package)
    with contextlib.redirect_stdout(sys.stderr):  # only exit codes are written to standard output
        exec(first, {})
    for line in sys.stdin:
        child = os.fork()
        if not child:
            atexit.register(gc.freeze)  # the search for garbage at the end of a process would take a second
            job: dict[str, Any] = json.loads(line)
            return job
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
    return None


if __name__ == "__main__" and (job := _next_job(sys.argv[1])):
    _become(**job)
