"""What a command can get: the limits of its length, and of what its arguments and its environment hold."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from airflow_config_providers.core.text import octets, printable
from airflow_config_providers.exceptions import ConfigException, SubmitError

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


def refuse_unpassable(variables: Mapping[object, object], texts: Mapping[str, object]) -> None:
    """
    Refuse what the operating system cannot pass to a program; its own error would name nothing.

    :param variables: the environment variables
    :param texts: label -> argument
    :raises ConfigException: lists all of them, without values
    """
    problems = [*_problems_of_names(variables)]
    values = {f"env_vars[{name!r}]": value for name, value in variables.items()}
    for label, value in {**values, **texts}.items():
        if problem := _problem(value):
            problems.append(f"{printable(label)}: its value {problem}")
    if problems:
        raise ConfigException(*problems)


def _problems_of_names(variables: Mapping[object, object]) -> Iterator[str]:
    for name in variables:
        problem = _problem(name)
        if problem is None and "=" in str(name):
            problem = "contains an equals sign. Rename it."
        if problem:
            yield f"{printable(f'env_vars[{name!r}]')}: its name {problem}"


def _problem(value: object) -> str | None:
    if not isinstance(value, str | bytes | os.PathLike):
        return "is not a string. Put it in quotes."
    try:
        octets = os.fsencode(value)
    except UnicodeEncodeError:
        return "contains half of a surrogate pair, which is not a character. Correct it."
    return "contains a NUL character. Remove it." if 0 in octets else None


def _size(text: str) -> int:
    return len(octets(text)) + 1
