"""The places of entries in their files, for messages: Airflow's parsers do not keep them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Final

from airflow_config_providers.core.text import printable
from airflow_config_providers.secrets.imports import importing

_UNREADABLE: Final = (OSError, ValueError, RecursionError)


def place_of(path: str, name: str) -> str:
    """Return the path and, if it can be found, the line of the entry that counts: the last one with this name."""
    shown = printable(path)
    lines = _env_lines if PurePath(path).suffix.lower() == ".env" else _yaml_lines
    try:
        found = [line for key, line in lines(Path(path).read_text()) if key == name]
    except _UNREADABLE:
        return shown
    return f"{shown}:{found[-1]}" if found else shown


def _env_lines(text: str) -> Iterator[tuple[str, int]]:
    for number, line in enumerate(text.splitlines(), 1):
        yield line.partition("=")[0], number


def _yaml_lines(text: str) -> Iterator[tuple[str, int]]:
    """Yield the names in a mapping of YAML, or of JSON, which is YAML, too."""
    with importing():
        import yaml  # noqa: PLC0415 - only if an entry is wrong

    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        return
    if isinstance(root, yaml.MappingNode):
        yield from ((str(key.value), key.start_mark.line + 1) for key, _ in root.value)
