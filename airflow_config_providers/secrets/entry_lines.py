"""The places of entries in their files, for messages: Airflow's parsers do not keep them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Final

from airflow_config_providers.core.text import printable
from airflow_config_providers.secrets.imports import importing

_UNREADABLE: Final = (OSError, ValueError, RecursionError)


def lines_of(path: str) -> Mapping[str, int]:
    """Return name -> the line of the entry that counts, the last one with this name; empty if they cannot be found."""
    found = _env_lines if PurePath(path).suffix.lower() == ".env" else _yaml_lines
    try:
        return dict(found(Path(path).read_text()))
    except _UNREADABLE:
        return {}


def place_of(path: str, name: str, lines: Mapping[str, int]) -> str:
    """
    Return the path of an entry and, if it is known, its line.

    :param lines: what ``lines_of`` returns for the file
    """
    return f"{printable(path)}:{lines[name]}" if name in lines else printable(path)


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
