"""Determines whether a job is a Python program, since only a Python driver can resolve references."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import Any, Final

from airflow_config_providers.job.nested_texts import Path, label
from airflow_config_providers.job.supported import PART, JvmSign

PYTHON_RUNNER: Final = "org.apache.spark.deploy.PythonRunner"
"""Spark's class that runs a Python program, even where Spark would refuse one."""


def not_python(signs: Iterable[JvmSign], operator: object) -> str:
    """Return the field that shows that a job is not a Python program; empty if there is none."""
    found = [
        (label(sign.field, way).removeprefix("_"), value)
        for sign in signs
        for way, value in _values(getattr(operator, sign.field, None), sign.path, ())
        if _is_shown(value, sign)
    ]
    return "" if not found or any(value == PYTHON_RUNNER for _, value in found) else found[0][0]


def _is_shown(value: Any, sign: JvmSign) -> bool:
    if not sign.pattern:
        return bool(value)
    return isinstance(text := _text(value), str) and re.search(sign.pattern, text) is not None


def _text(value: Any) -> Any:
    """Return a path as a string, and the items of a list as lines."""
    if isinstance(value, list | tuple):
        return "\n".join(map(str, value))
    return str(value) if isinstance(value, PurePath) else value


def _values(value: Any, path: tuple[str, ...], way: Path) -> Iterator[tuple[Path, Any]]:
    """Yield the values at the ends of ``path``, each with the way to it."""
    if not path:
        yield way, value
    elif path[0] == PART and isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _values(item, path[1:], (*way, index))
    elif isinstance(value, Mapping) and path[0] in value:
        yield from _values(value[path[0]], path[1:], (*way, path[0]))
