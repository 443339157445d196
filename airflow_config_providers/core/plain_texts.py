"""Checks that keys and values are strings; in Python they can also be numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException


def key_type_problem(key: object) -> str | None:
    """Return what is wrong with a key that is not a string; None if it is one."""
    return None if isinstance(key, str) else f"The key {printable(repr(key))} is {_kind(key)}. Write it as a string."


def value_type_problem(key: str, value: object) -> str | None:
    """Return what is wrong with the value of ``key`` if it is neither a string nor None; otherwise None."""
    if value is None or isinstance(value, str):
        return None
    return f"'{printable(key)}': the value is {_kind(value)}. Write it as a string."


def type_problems(configs: Mapping[Any, Any]) -> Iterator[str]:
    """Yield a problem for each key that is not a string, or whose value is neither a string nor None; no values."""
    for key, value in configs.items():
        if problem := key_type_problem(key) or value_type_problem(key, value):
            yield problem


def require_texts(configs: Mapping[Any, Any], *, where: str = "", is_none_allowed: bool = False) -> None:
    """
    Refuse keys and values that are not strings.

    :param where: put before each problem
    :raises ConfigException: some are not strings; names all of them
    """
    allowed = {str, type(None)} if is_none_allowed else {str}
    if allowed.issuperset(map(type, configs.values())) and {str}.issuperset(map(type, configs)):
        return
    nothing = (f"'{printable(str(key))}': there is no value." for key, value in configs.items() if value is None)
    if problems := [*type_problems(configs), *(() if is_none_allowed else nothing)]:
        raise ConfigException(*(f"{where}{problem}" for problem in problems))


def _kind(value: object) -> str:
    return f"of type {type(value).__name__}"
