"""A temporary file that no other user can read; one in memory has a path for as long as a process has it open."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_log: Final = logging.getLogger(__name__)

_CREATE: Final = getattr(os, "memfd_create", None)

_UNSUPPORTED: Final = frozenset({errno.ENOSYS, errno.EPERM, errno.EACCES, errno.EINVAL})
"""The errors of a system that has no such call, of a sandbox that forbids it, and of a system without an option."""

_HOLD: Final = ("/bin/sh", "-c", "read _")
"""Ends when its input does."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class PrivateFile:
    """
    What a child process needs to read the file.

    :param path: the path of the file for the child
    :param pass_fds: the descriptors that it must inherit for that: the ``pass_fds`` of ``subprocess.Popen``
    """

    path: str
    pass_fds: tuple[int, ...] = ()


@contextmanager
def private_file(content: bytes, *, anonymous: bool | None = None) -> Iterator[PrivateFile]:
    """
    Keep ``content`` in a file until the block ends.

    An anonymous file is in memory: it has no name on any disk, and the system frees it when the last process that
    holds it has ended, even if it was killed. A named file has mode 0600 in a new directory of mode 0700; a process
    that a signal ends leaves it behind: SIGKILL, or one such as SIGTERM that it does not handle.

    :param anonymous: None for an anonymous file if the system supports it, otherwise a named file
    :raises OSError: the file cannot be created, as without memory or descriptors, or ``anonymous`` is true and the
        system does not support it
    """
    if anonymous is None:
        anonymous = has_anonymous_files()
    with _anonymous(content) if anonymous else _named(content) as file:
        yield file


@contextmanager
def held(file: PrivateFile) -> Iterator[str]:
    """
    Yield a path by which processes of the same user can open the anonymous ``file``, until the block ends.

    A child has the file open, since others may not look into this process. It ends with the block, and also with this
    process, even if that is killed.

    :raises OSError: the child cannot be started
    """
    with subprocess.Popen(_HOLD, stdin=subprocess.PIPE, env={}, pass_fds=file.pass_fds) as holder:  # noqa: S603 - ours
        yield path_in(holder.pid, file)


def path_in(process: int, file: PrivateFile) -> str:
    """Return the path of a file that a process has open; of a named file, its own."""
    return f"/proc/{process}/fd/{file.pass_fds[0]}" if file.pass_fds else file.path


def has_anonymous_files(create: Callable[[str, int], int] | None = _CREATE) -> bool:
    """
    Return whether the system supports anonymous files.

    :param create: creates one, and returns its descriptor; None if the system has no call for that
    :raises OSError: it does, but none can be created now
    """
    if create is None or not Path("/dev/fd").is_dir():
        return False
    try:
        os.close(create("probe", os.MFD_CLOEXEC))
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
        return False
    return True


@contextmanager
def _anonymous(content: bytes) -> Iterator[PrivateFile]:
    descriptor = os.memfd_create("spark.properties", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.fchmod(descriptor, 0o400)
        _write(descriptor, content)
        seals = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
        yield PrivateFile(f"/dev/fd/{descriptor}", (descriptor,))
    finally:
        os.close(descriptor)


@contextmanager
def _named(content: bytes) -> Iterator[PrivateFile]:
    directory = Path(tempfile.mkdtemp(prefix="spark-properties-"))
    try:
        path = directory / "spark.properties"
        write_new(path, content)
        yield PrivateFile(str(path))
    finally:
        _remove(directory)


def _remove(directory: Path) -> None:
    """Remove ``directory`` if it is still there. An error here would replace the result of the block."""
    shutil.rmtree(directory, ignore_errors=True)
    if os.path.lexists(directory):
        _log.warning("%s cannot be removed. It can contain a file with resolved values: remove it.", directory)


def write_new(path: Path, content: bytes) -> None:
    """
    Write ``content`` to a new file of mode 0600, whatever the umask.

    :raises FileExistsError: something exists at ``path``, even if it is a broken link
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.fchmod(descriptor, 0o600)
        _write(descriptor, content)
    finally:
        os.close(descriptor)


def _write(descriptor: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
