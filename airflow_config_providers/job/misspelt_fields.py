"""Fields of a connection's extra that nothing reads because they are misspelt. What is in them is never shown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from airflow_config_providers.core.provider_definition import CONFIG_PROVIDERS
from airflow_config_providers.core.text import nearest, printable

_FIELDS: Final = (CONFIG_PROVIDERS, "properties", "properties_file")
"""The fields that define providers."""


def misspelt(fields: Iterable[str]) -> list[str]:
    """Return a sentence for each of ``fields`` that is not read, but resembles one that is."""
    return [
        f"'{printable(field)}' in its extra is not read{hint}"
        for field in sorted(fields)
        if _beginning(field) not in _FIELDS and (hint := nearest(_beginning(field), _FIELDS))
    ]


def no_provider(conn_id: str, way_out: str) -> str:
    """Return the message for a connection that defines no provider."""
    return (
        f"Connection '{printable(conn_id)}' defines no provider: {CONFIG_PROVIDERS} is not in its extra, or is empty. "
        f"{way_out}"
    )


def _beginning(field: str) -> str:
    """Return the first two parts of a field's name. After ``config.providers`` come names that the owner chose."""
    return ".".join(field.split(".")[:2])
