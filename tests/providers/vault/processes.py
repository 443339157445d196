"""Processes of the tests, as the kernel shows them."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.limits import LONGEST, eventually

ROOT = Path(__file__).parents[3]
FORKS_ARE_MEANT = ("-W", "ignore:This process:DeprecationWarning")  # of os.fork amid threads, from Python 3.12 on


@contextlib.contextmanager
def started_job(how: str, params: dict[str, object], *paths: str) -> Iterator[subprocess.Popen[str]]:
    """Start ``job`` and end it at the end."""
    process = subprocess.Popen(
        [sys.executable, *FORKS_ARE_MEANT, "-m", "tests.providers.vault.job", how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    try:
        process.stdin.write(json.dumps({"params": params, "paths": list(paths)}) + "\n")
        process.stdin.flush()
        yield process
    finally:
        process.kill()
        process.communicate()


def run_job(how: str, params: dict[str, object], *paths: str) -> tuple[int, list[str], str]:
    """Run ``job`` to its end; gives how it ended, and what it said and what it complained of."""
    with started_job(how, params, *paths) as process:
        said, complained = process.communicate(timeout=LONGEST)
        return process.returncode, said.splitlines(), complained


def said(process: subprocess.Popen[str], word: str) -> str:
    """Wait for a line that begins with ``word`` and give the rest of it."""
    for line in process.stdout:
        if line.startswith(word):
            return line.removeprefix(word).strip()
    raise AssertionError(f"it ended before it said {word!r}: {process.stderr.read()}")


def children(pid: int) -> list[int]:
    """Return the children of a process that run another program, and so are not mere forks."""
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in listed]


def helper_of(pid: int) -> int:
    """Return the helper of a process, whose command is not readable right after its start."""
    assert eventually(lambda: any("give_back" in command(child) for child in children(pid)))
    (helper,) = (child for child in children(pid) if "give_back" in command(child))
    return helper


def command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()


def open_files(pid: int) -> dict[int, str]:
    """Return what each descriptor of a process refers to; nothing if it closes one meanwhile."""
    with contextlib.suppress(FileNotFoundError):
        return {int(link.name): str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()}
    return {}


def is_running(pid: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
