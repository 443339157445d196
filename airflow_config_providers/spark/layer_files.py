"""Reads the properties files of layers."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.providers.allowed_files import DEFAULT_MAX_BYTES
from airflow_config_providers.providers.real_path import Steps, is_inside, open_real, steps

_OF_THE_SYSTEM: Final = (("proc",), ("sys",))
_NO_FILE: Final = "it is not a regular file"
_LIVE: Final = "the operating system generates its content, which is not configuration"


@dataclass(frozen=True, slots=True)
class Bound:
    """
    The directories in which a file must be, after following all symbolic links.

    :param directories: the file must be inside one of these
    :param problem: what is wrong with a file elsewhere, and what to do
    """

    directories: tuple[str, ...] = field(repr=False)
    problem: str

    def holds(self, real: Steps) -> bool:
        """Return whether the real path ``real`` is inside one of the directories."""
        return is_inside(real, [steps(os.path.realpath(directory)) for directory in self.directories])


def read_layer_file(path: str, *, name: str, bounds: Iterable[Bound] = ()) -> bytes:
    """
    Return the content of a regular file of at most 1 MiB. Opening it never blocks.

    A file outside a bound is not opened, and the error does not reveal whether it exists.

    :param name: its name in messages
    :raises ConfigException: the file cannot be read, is not a regular file, is too large, or is outside a bound
    """
    try:
        real = steps(os.path.realpath(path))
        outside = [bound.problem for bound in bounds if not bound.holds(real)]
        found = b"" if outside else _read(real)
    except OSError as error:
        found, outside = error.strerror or type(error).__name__, []
    except ValueError:  # a NUL, or a lone surrogate
        found, outside = "the name is invalid", []
    if outside:
        raise ConfigException(*(f"The file '{printable(name)}' {problem}" for problem in outside))
    if isinstance(found, str):
        raise ConfigException(
            f"The properties file '{printable(name)}' cannot be read: {found}. Correct the path or the file."
        )
    return found


def _read(real: Steps) -> bytes | str:
    """Return the content of a file, or what is wrong with the file."""
    if is_inside(real, _OF_THE_SYSTEM):
        return _LIVE
    with open_real(real, is_kind=stat.S_ISREG) as descriptor:
        if descriptor is None:
            return _NO_FILE
        with open(descriptor, "rb", closefd=False) as file:
            content = file.read(DEFAULT_MAX_BYTES + 1)
        size = os.fstat(descriptor).st_size
    if content and not size:  # in a /proc that is mounted elsewhere
        return _LIVE
    if len(content) > DEFAULT_MAX_BYTES:
        return f"it is larger than {DEFAULT_MAX_BYTES} bytes"
    return content
