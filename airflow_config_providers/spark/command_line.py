"""The limits of a command's length."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from airflow_config_providers.core.text import octets
from airflow_config_providers.exceptions import SubmitError

_USUAL: Final = 2 * 1024 * 1024
"""The limit of Linux, unless stacks are smaller; if they are unlimited, ``SC_ARG_MAX`` is too high."""

_SMALLEST: Final = 128 * 1024
_POINTER: Final = 8


def room(environ: Mapping[str, str], *, sysconf: Callable[[str], int] = os.sysconf) -> int:
    """
    Return how many bytes of a Spark command the configuration can take.

    That is half of the limit for a command and its environment: the rest is for the other arguments, and for what
    Spark's scripts add to the command and to the environment.

    :param environ: the environment of the command
    :param sysconf: ``os.sysconf``, or a replacement
    """
    limit = sysconf("SC_ARG_MAX")
    taken = sum(_size(name) + _size(value) + _POINTER for name, value in environ.items())
    return max(0, min(_USUAL, limit if limit > 0 else _SMALLEST) - taken) // 2


@contextmanager
def refusing_too_long() -> Iterator[None]:
    """
    Explain what to do if a command cannot be started because it is too long.

    :raises SubmitError: instead of the error of the operating system
    """
    is_too_long = False
    try:
        yield
    except OSError as error:
        if error.errno != errno.E2BIG:
            raise
        is_too_long = True
    if is_too_long:
        raise SubmitError(
            "The command is too long for this machine: an argument is longer than 128 KiB, or all of them together "
            "are too long. Shorten the arguments of the job, for example by letting it read a file. The configuration "
            "is not the reason, since a large configuration goes through a file."
        )


def size(configs: Mapping[str, str]) -> int:
    """Return how many bytes the arguments ``--conf key=value`` for ``configs`` take together."""
    return sum(_size("--conf") + _size(key) + _size(value) + 2 * _POINTER for key, value in configs.items())


def _size(text: str) -> int:
    return len(octets(text)) + 1
