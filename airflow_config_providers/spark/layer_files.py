"""Reading the properties files that layers come from."""

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
_NO_FILE: Final = "it is no regular file"
_LIVE: Final = "its content is made by the operating system, which is no configuration"


@dataclass(frozen=True, slots=True)
class Bound:
    """
    Where a file must be, with all symbolic links followed.

    :param directories: it must be inside one of these
    :param problem: what is wrong with a file elsewhere, and the way out
    """

    directories: tuple[str, ...] = field(repr=False)
    problem: str

    def holds(self, real: Steps) -> bool:
        """Return whether the real path ``real`` is inside."""
        return is_inside(real, [steps(os.path.realpath(directory)) for directory in self.directories])


def read_layer_file(path: str, *, name: str, bounds: Iterable[Bound] = ()) -> bytes:
    """
    Read a regular file of at most 1 MiB, without waiting.

    A file outside of a bound is not opened, and the error does not tell whether it exists.

    :param name: what people call it
    :raises ConfigException: it cannot be read, is no such file, or is outside of a bound
    """
    try:
        real = steps(os.path.realpath(path))
        outside = [bound.problem for bound in bounds if not bound.holds(real)]
        found = b"" if outside else _read(real)
    except OSError as error:
        found, outside = error.strerror or type(error).__name__, []
    except ValueError:  # a NUL, or a lone surrogate
        found, outside = "no file has such a name", []
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
