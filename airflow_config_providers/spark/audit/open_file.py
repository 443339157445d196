"""Files that are open for reading, wherever they are."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import ClassVar, Final, Protocol, TextIO

from airflow_config_providers.providers.real_path import open_real, steps


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


@contextmanager
def opened_file(path: str) -> Iterator[LocalFile]:
    """
    Open a regular file, through no link.

    A folder that was replaced by a link since the listing therefore leads nowhere.

    :raises ContentError: it has vanished, cannot be read, or is no regular file (any more)
    """
    with ExitStack() as stack:
        try:
            descriptor, problem = stack.enter_context(open_real(steps(path), is_kind=stat.S_ISREG)), ""
        except OSError as error:
            descriptor, problem = None, f"It cannot be opened: {reason(error)}."
        if descriptor is None:
            raise ContentError(problem or "It is no regular file.")
        yield LocalFile(descriptor)


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
    if isinstance(error, OSError) and isinstance(error.errno, int):
        return os.strerror(error.errno)
    if isinstance(error, ImportError):
        return f"the package {error.name} is not installed there"
    return _MEANINGS.get(type(error), type(error).__name__)


_MEANINGS: Final[dict[type[Exception], str]] = {
    FileNotFoundError: "No such file or directory",
    PermissionError: "Permission denied",
}
"""What libraries for object storage raise without a number."""
