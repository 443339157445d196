"""Keys and values that have to be text; in Python they may turn out to be numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException


def key_type_problem(key: object) -> str | None:
    """Say what is wrong with a key that is no text; None for one that is."""
    return None if isinstance(key, str) else f"The key {printable(repr(key))} is {_kind(key)}. Write it as a string."


def value_type_problem(key: str, value: object) -> str | None:
    """Say what is wrong with the value of ``key`` if it is no text; None for one that is, and for None."""
    if value is None or isinstance(value, str):
        return None
    return f"'{printable(key)}': the value is {_kind(value)}. Write it as a string."


def type_problems(configs: Mapping[Any, Any]) -> Iterator[str]:
    """Name the keys that are no text, or have a value that is neither text nor None; values are not told."""
    for key, value in configs.items():
        if problem := key_type_problem(key) or value_type_problem(key, value):
            yield problem


def require_texts(configs: Mapping[Any, Any], *, where: str = "", is_none_allowed: bool = False) -> None:
    """
    Refuse keys and values that are no text.

    :param where: stands before each problem
    :raises ConfigException: names all of them
    """
    allowed = {str, type(None)} if is_none_allowed else {str}
    if allowed.issuperset(map(type, configs.values())) and {str}.issuperset(map(type, configs)):
        return
    nothing = (f"'{printable(str(key))}': there is no value." for key, value in configs.items() if value is None)
    if problems := [*type_problems(configs), *(() if is_none_allowed else nothing)]:
        raise ConfigException(*(f"{where}{problem}" for problem in problems))


def _kind(value: object) -> str:
    return f"of type {type(value).__name__}"
