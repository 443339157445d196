"""The folder in which audits keep what they have searched: made, and used by one audit at a time."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException, system_reason

_LOCK: Final = ".lock"


@contextmanager
def locked(folder: str) -> Iterator[None]:
    """
    Make a folder, and keep other audits out of it. The lock ends with the process, whatever ends that.

    :raises ConfigException: the folder cannot be used, others can write to it, or another audit uses it
    """
    try:
        descriptor, problem = _locked(Path(os.path.realpath(folder))), ""
    except BlockingIOError:
        descriptor, problem = -1, "another audit uses it. Wait until that has ended, or name another folder"
    except OSError as error:
        descriptor, problem = -1, f"{system_reason(error)}. Name a folder that can be written"
    if problem:
        raise ConfigException(f"--state {printable(folder)}: {problem}.")
    try:
        yield
    finally:
        os.close(descriptor)


def _locked(folder: Path) -> int:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _require_private(folder)
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(folder / _LOCK, flags, mode=0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _require_private(folder: Path) -> None:
    """Raise an error if another user can write to ``folder``: files would pass for searched."""
    status = folder.stat()
    if status.st_uid not in {0, os.geteuid()}:
        problem = "it belongs to another user"
    elif status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        problem = "others can write to it"
    else:
        return
    raise ConfigException(
        f"--state {printable(str(folder))}: {problem}, and could hide leaks there. Name a folder of your own, to which "
        f"only you can write, as after chmod go-w."
    )
