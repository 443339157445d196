"""The paths of the properties files that the author of a DAG names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from airflow_config_providers.exceptions import ConfigException


def listed(paths: Any) -> Any:
    """
    Return the paths of properties files as a list of strings, also if they are one path, or objects of ``pathlib``.

    The output of another task is returned unchanged.
    """
    if isinstance(paths, str | PurePath):
        return [str(paths)]
    if paths is not None and isinstance(paths, Sequence):
        return [str(path) if isinstance(path, PurePath) else path for path in paths]
    return paths


def refuse_odd_paths(paths: Any) -> None:
    """
    Make sure that ``config_files``, the result of ``listed``, are paths.

    :raises ConfigException: something else is among them
    """
    items = paths if isinstance(paths, list) else () if paths is None else (paths,)
    if odd := [type(item).__name__ for item in items if not isinstance(item, str)]:
        raise ConfigException(f"config_files: expected paths of files, found {', '.join(odd)}. Write strings.")


def paths_of(value: Any, name: str) -> Any:
    """
    Return the paths in ``value``; what another task returns becomes its template.

    :param name: the field that has it
    """
    found = listed(value) if name == "config_files" else value
    return [str(path) for path in found] if isinstance(found, list) else str(found) if found else None
