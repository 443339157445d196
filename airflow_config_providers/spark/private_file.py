"""A file that only this process and the ones it starts can read, and that is gone afterwards."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class PrivateFile:
    """
    How a child process reads the file.

    :param path: the path to give it
    :param pass_fds: descriptors that it must inherit for that, the ``pass_fds`` of ``subprocess.Popen``
    """

    path: str
    pass_fds: tuple[int, ...] = ()


@contextmanager
def private_file(content: bytes, *, anonymous: bool | None = None) -> Iterator[PrivateFile]:
    """
    Hold ``content`` in a file for as long as the context lasts.

    An anonymous file is memory: it has no name on any disk, and the system frees it when the last process that
    holds it has ended, however it ended. A named one has mode 0600 in a new directory of mode 0700; a process that
    is killed by SIGKILL leaves it behind.

    :param anonymous: None for an anonymous file where the system has one, else a named file
    :raises OSError: the file cannot be made; an anonymous one asked for, and the system has none
    """
    if anonymous is None:
        anonymous = _has_anonymous_files()
    with _anonymous(content) if anonymous else _named(content) as file:
        yield file


def _has_anonymous_files() -> bool:
    if not hasattr(os, "memfd_create") or not Path("/dev/fd").is_dir():
        return False
    try:
        os.close(os.memfd_create("probe", os.MFD_CLOEXEC))
    except OSError:  # a sandbox may forbid the call
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
    directory = tempfile.mkdtemp(prefix="spark-properties-")
    try:
        path = Path(directory, "spark.properties")
        write_new(path, content)
        yield PrivateFile(str(path))
    finally:
        shutil.rmtree(directory)


def write_new(path: Path, content: bytes) -> None:
    """
    Write ``content`` to a new file of mode 0600, whatever the umask.

    :raises FileExistsError: there is something at ``path``, be it a link that leads nowhere
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
