"""Checks what a program can get as an argument or in its environment."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException


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
