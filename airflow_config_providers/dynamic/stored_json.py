"""The JSON that documents and histories are stored as, with the members that only a newer version knows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException

FORMAT: Final = 1

_Read = TypeVar("_Read")

_ENCRYPTED: Final = "gAAAAA"
"""Start of what Fernet writes. Airflow hands it out as it is where it has no Fernet key."""


def read_json(text: str, read: Callable[[Mapping[str, Any]], _Read], *, where: str, newest: int = FORMAT) -> _Read:
    """
    Return what ``read`` makes of the object in ``text``.

    :param where: names what is stored, for messages
    :param newest: the highest number of a format that ``read`` knows
    :raises ConfigException: it cannot be read; it is neither used nor written over
    """
    found: Any = None
    try:
        found = json.loads(text)
        if FORMAT <= _number(found) <= newest:
            return read(found)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    raise ConfigException(f"{where} cannot be read. {_reason(text, found, newest)} Nothing of it is used or changed.")


def unknown(found: Mapping[str, Any], *known: str) -> dict[str, Any]:
    """Return the members of ``found`` that are not ``known``: they are written back as they are."""
    return {name: value for name, value in found.items() if name not in known}


def variable(name: str, what: str) -> str:
    """Return what messages call ``what``, which is stored in the variable ``name``."""
    return f"The {what} in the variable '{printable(name)}'"


def _reason(text: str, found: Any, newest: int) -> str:
    if text.startswith(_ENCRYPTED):
        return "It is encrypted, and Airflow has no Fernet key here. Set fernet_key in [core] to its key."
    if (later := _number(found)) > newest:
        return f"It has format {later}, this version reads {newest}: upgrade airflow-config-providers here."
    return "Something else wrote there, or a later version. Restore it, or upgrade airflow-config-providers here."


def _number(found: Any) -> int:
    """Return the number of the format of ``found``; 0 where it has none."""
    number = found.get("format") if isinstance(found, dict) else None
    return number if isinstance(number, int) else 0
