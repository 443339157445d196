"""How much a command can carry."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from airflow_config_providers.core.text import octets
from airflow_config_providers.exceptions import SubmitError

_USUAL: Final = 2 * 1024 * 1024
"""What Linux takes unless its stacks are smaller; where they are unlimited, ``SC_ARG_MAX`` promises too much."""

_SMALLEST: Final = 128 * 1024
_POINTER: Final = 8


def room(environ: Mapping[str, str], *, sysconf: Callable[[str], int] = os.sysconf) -> int:
    """
    Return how many bytes the configuration may take in a command of Spark.

    That is half of what a command and its environment may take together: the rest is for the other arguments, and
    for what Spark's scripts put before them and into the environment.

    :param environ: the environment that the command gets
    :param sysconf: ``os.sysconf``, or a stand-in
    """
    limit = sysconf("SC_ARG_MAX")
    taken = sum(_size(name) + _size(value) + _POINTER for name, value in environ.items())
    return max(0, min(_USUAL, limit if limit > 0 else _SMALLEST) - taken) // 2


@contextmanager
def refusing_too_long() -> Iterator[None]:
    """
    Say what to do where a command cannot be started because it is too long.

    :raises SubmitError: in place of the error of the system
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
            "The command is longer than this machine takes: one argument of more than 128 KiB, or many together. "
            "Shorten the arguments of the job, for instance by a file that it reads. The configuration is not the "
            "reason: what of it is too much goes by a file."
        )


def size(configs: Mapping[str, str]) -> int:
    """Return how many bytes ``--conf key=value`` takes for all of ``configs``."""
    return sum(_size("--conf") + _size(key) + _size(value) + 2 * _POINTER for key, value in configs.items())


def _size(text: str) -> int:
    return len(octets(text)) + 1
