"""What is wrong with the rights of files that processes of Airflow read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from shlex import quote

from airflow_config_providers.core.diagnosis import Diagnosis, doubt, fault
from airflow_config_providers.core.text import printable


def rights_of(path: str, *, is_secret: bool = False) -> Iterator[Diagnosis]:
    """
    Yield what is wrong with the rights of a file or directory; nothing if nothing is.

    :param is_secret: whether others must not read it, either
    """
    try:
        real = Path(os.path.realpath(path))
        mode, folder_mode = real.stat().st_mode, real.parent.stat().st_mode
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its name is invalid"
        yield fault(f"'{printable(path)}' cannot be read: {reason}.", "Correct the path, or create it.")
        return
    yield from _own(path, mode, is_secret=is_secret)
    yield from _of_folder(path, real.parent, folder_mode)


def _own(path: str, mode: int, *, is_secret: bool) -> Iterator[Diagnosis]:
    shown, quoted = printable(path), printable(quote(path))
    if mode & stat.S_IWOTH and not (stat.S_ISDIR(mode) and mode & stat.S_ISVTX):
        yield fault(f"Every user of this machine can change '{shown}'.", f"chmod o-w {quoted}")
    if is_secret and mode & stat.S_IROTH:
        yield doubt(f"Every user of this machine can read '{shown}', which holds a secret.", f"chmod o-r {quoted}")


def _of_folder(path: str, folder: Path, mode: int) -> Iterator[Diagnosis]:
    if not mode & stat.S_IWOTH:
        return
    shown, where = printable(path), printable(str(folder))
    if mode & stat.S_ISVTX:  # only its owner can replace the file while it is there
        yield doubt(
            f"'{shown}' is in {where}, where every user can create it if it is ever missing.",
            "Move it to a directory that only its owner can change, such as one below /etc/airflow.",
        )
    else:
        yield fault(f"Every user of this machine can replace '{shown}'.", f"chmod o-w {printable(quote(str(folder)))}")
