"""Why nobody will ever answer a reference."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from airflow_config_providers.core.provider_definition import CONFIG_PROVIDERS
from airflow_config_providers.core.text import nearest, printable
from airflow_config_providers.core.variable import ConfigVariable

_OF_SHELLS: Final = ("-", "=", "+", "?")
"""What stands behind ``${name:`` where a shell takes a default: ``${name:-default}``."""


def unknown_provider(variable: ConfigVariable, known: Collection[str], *, home: str = CONFIG_PROVIDERS) -> str:
    """
    Say that there is no provider of that name.

    :param known: the names of those that there are
    :param home: where providers are defined, as people call it
    """
    listed = ", ".join(printable(name) for name in sorted(known)) or "none"
    hint = nearest(variable.provider, known)
    way = no_default(variable) or f"Correct the name, or add the provider to {home}."
    return (
        f"{printable(str(variable))} names the unknown provider '{printable(variable.provider)}'{hint or '.'} "
        f"Known providers: {listed}. {way}"
    )


def no_default(variable: ConfigVariable) -> str:
    """Say that a reference has no default, to people who wrote one as in a shell; empty for others."""
    if not any(part.startswith(_OF_SHELLS) for part in (variable.path, variable.key)):
        return ""
    return (
        "Kafka's grammar of references has no defaults: write ${provider:path:key} alone, and set the default under "
        "the same key in a lower layer."
    )
