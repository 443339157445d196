"""The JSON form of documents and histories, which keeps members that only a newer version knows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException

FORMAT: Final = 1

_Read = TypeVar("_Read")

_ENCRYPTED: Final = "gAAAAA"
"""The beginning of a text that Fernet has encrypted. Without a Fernet key, Airflow returns it as it is."""


def read_json(text: str, read: Callable[[Mapping[str, Any]], _Read], *, where: str, newest: int = FORMAT) -> _Read:
    """
    Return the result of ``read`` for the JSON object in ``text``.

    :param where: its name in messages
    :param newest: the newest format that ``read`` supports
    :raises ConfigException: it cannot be read; it is neither used nor overwritten
    """
    found: Any = None
    try:
        found = json.loads(text)
        if FORMAT <= _number(found) <= newest:
            return read(found)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    raise ConfigException(f"{where} cannot be read. {_reason(text, found, newest)} It is neither used nor changed.")


def unknown(found: Mapping[str, Any], *known: str) -> dict[str, Any]:
    """Return the members of ``found`` that are not ``known``, which are written back unchanged."""
    return {name: value for name, value in found.items() if name not in known}


def variable(name: str, what: str) -> str:
    """Return the name in messages of ``what`` in the variable ``name``."""
    return f"The {what} in the variable '{printable(name)}'"


def _reason(text: str, found: Any, newest: int) -> str:
    if text.startswith(_ENCRYPTED):
        return "It is encrypted, but Airflow has no Fernet key here. Set fernet_key in [core] to its key."
    if (later := _number(found)) > newest:
        return f"It has format {later}, but this version supports {newest}: upgrade airflow-config-providers here."
    return "A later version or another program wrote it. Upgrade airflow-config-providers here, or restore it."


def _number(found: Any) -> int:
    """Return the number of the format of ``found``; 0 if it has none."""
    number = found.get("format") if isinstance(found, dict) else None
    return number if isinstance(number, int) else 0
