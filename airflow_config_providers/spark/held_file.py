"""A process that keeps a file in memory open for others, which may not look into this process."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from airflow_config_providers.spark.private_file import PrivateFile

_HOLD: Final = ("/bin/sh", "-c", "read _")
"""Ends when its input does."""


@contextmanager
def held(file: PrivateFile) -> Iterator[str]:
    """
    Yield a path by which processes of the same user can open the anonymous ``file``, until the block ends.

    The process that holds it ends with the block, and also with this process, even if that is killed.

    :raises OSError: the process cannot be started
    """
    with subprocess.Popen(_HOLD, stdin=subprocess.PIPE, env={}, pass_fds=file.pass_fds) as holder:  # noqa: S603 - ours
        yield path_in(holder.pid, file)


def path_in(process: int, file: PrivateFile) -> str:
    """Return the path of a file that a process has open; of a named file, its own."""
    return f"/proc/{process}/fd/{file.pass_fds[0]}" if file.pass_fds else file.path
