"""The references in the strings of a structure, such as a connection's fields or a variable's JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from airflow_config_providers.core.nested import map_leaves
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import scan
from airflow_config_providers.exceptions import ConfigException

_DEEPEST: Final = 50


def texts(structure: Any, where: str) -> dict[str, str]:
    """
    Return each string that holds a reference once, under its place, such as ``connection db, extra.token``.

    :param where: the name of the structure
    :raises ConfigException: a name contains a reference, or the collections are nested too deeply
    """
    found: dict[str, str] = {}
    for place, text in _leaves(structure, "", where):
        if text not in found.values():
            label = f"{where}, {place}" if place else where
            while label in found:  # the name 'a.b' and the names 'a', 'b' have the same place
                label += "'"
            found[label] = text
    return found


def replaced(structure: Any, values: Mapping[str, str]) -> Any:
    """Return ``structure`` with the strings that are keys of ``values`` replaced, each once."""
    return map_leaves(structure, lambda leaf: values.get(leaf, leaf) if isinstance(leaf, str) else leaf)


def _leaves(structure: Any, place: str, where: str, *, depth: int = _DEEPEST) -> Iterator[tuple[str, str]]:
    if isinstance(structure, str):
        if scan(structure):
            yield place, structure
        return
    if depth == 0:
        raise ConfigException(f"{where}: its collections are nested too deeply.")
    for name, child in _children(structure):
        if scan(name):
            raise ConfigException(
                f"{where}: the name '{printable(name)}' in it contains a reference, but a value never becomes a name. "
                f"Write the name itself."
            )
        yield from _leaves(child, f"{place}.{printable(name)}" if place else printable(name), where, depth=depth - 1)


def _children(structure: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(structure, Mapping):
        yield from ((str(name), child) for name, child in structure.items())
    elif isinstance(structure, list | tuple):
        yield from ((str(position), child) for position, child in enumerate(structure))
