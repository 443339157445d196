"""Files that are open for reading, wherever they are."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import ClassVar, Final, Protocol, TextIO

from airflow_config_providers.exceptions import errno_meaning
from airflow_config_providers.providers.real_path import descriptor_in, open_directory, open_in, steps


class ContentError(Exception):
    """A file, or a part of it, cannot be read. Its message is for people, and holds nothing of the content."""


class OpenFile(Protocol):
    """An open file."""

    @property
    def is_far(self) -> bool:
        """Whether each read waits for the network, so that large reads, and reading ahead, pay."""

    def read(self, at: int, size: int) -> bytes:
        """
        Return up to ``size`` bytes from the offset ``at``; fewer only at the end of the file.

        :raises ContentError: the file cannot be read
        """


@dataclass(frozen=True, slots=True)
class LocalFile:
    """
    A file in the file system.

    :param descriptor: of the open file
    """

    descriptor: int
    is_far: ClassVar[bool] = False

    def read(self, at: int, size: int) -> bytes:
        """
        Return up to ``size`` bytes from the offset ``at``.

        :raises ContentError: the file cannot be read
        """
        try:
            return os.pread(self.descriptor, size, at)
        except OSError as error:
            problem = reason(error)
        raise ContentError(f"It cannot be read: {problem}.")


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """A file that has been read as a whole."""

    content: bytes
    is_far: ClassVar[bool] = False

    def read(self, at: int, size: int) -> bytes:
        """Read as ``OpenFile.read`` says."""
        return self.content[at : at + size]


@contextmanager
def opened_file(path: str) -> Iterator[LocalFile]:
    """
    Open a regular file, through no link.

    A folder that was replaced by a link since the listing therefore leads nowhere.

    :raises ContentError: it has vanished, cannot be read, or is not, or no longer, a regular file
    """
    with closing(OpenFolder()) as folder, folder.opened(path) as source:
        yield source


class OpenFolder:
    """
    Opens one file after the other, as ``opened_file`` does, in the time of one if they are in the same folder.

    The folder stays open meanwhile. Use it in one thread.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._path: str | None = None
        self._descriptor = -1

    @contextmanager
    def opened(self, path: str) -> Iterator[LocalFile]:
        """Open a file; see ``opened_file``."""
        folder, _, name = path.rpartition("/")
        with ExitStack() as stack:
            try:
                file = stack.enter_context(open_in(self._entered(folder), name, is_kind=stat.S_ISREG))
                problem = "It is no regular file."
            except OSError as error:
                file, problem = None, f"It cannot be opened: {reason(error)}."
            if file is None:
                raise ContentError(problem)
            yield LocalFile(file)

    def beginning(self, path: str, size: int) -> bytes | None:
        """Return up to ``size`` bytes of a file; None if ``opened`` or its result would raise an error."""
        folder, _, name = path.rpartition("/")
        try:
            file = descriptor_in(self._entered(folder), name, is_kind=stat.S_ISREG)
            if file is None:
                return None
            try:
                return os.pread(file, size, 0)
            finally:
                os.close(file)
        except (OSError, ValueError):
            return None

    def _entered(self, folder: str) -> int:
        if folder != self._path:
            self.close()
            self._descriptor = self._stack.enter_context(open_directory(steps(folder)))
            self._path = folder
        return self._descriptor

    def close(self) -> None:
        """Close the folder."""
        self._stack.close()
        self._path = None


@contextmanager
def opened_text(path: str) -> Iterator[TextIO]:
    """
    Open a regular file with text in UTF-8, through no link.

    :raises ContentError: as for ``opened_file``
    """
    with opened_file(path) as source, os.fdopen(os.dup(source.descriptor), encoding="utf-8") as file:
        yield file


def reason(error: Exception) -> str:
    """Return why something failed, without the message of a library, which can have addresses and credentials."""
    if isinstance(error, ImportError):
        return f"the package {error.name} is not installed there"
    return errno_meaning(error) or _MEANINGS.get(type(error), type(error).__name__)


_MEANINGS: Final[dict[type[Exception], str]] = {
    FileNotFoundError: "No such file or directory",
    PermissionError: "Permission denied",
}
"""What libraries for object storage raise without a number."""
