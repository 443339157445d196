"""Reasons why a reference will never have an answer."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from airflow_config_providers.core.provider_definition import CONFIG_PROVIDERS
from airflow_config_providers.core.text import nearest, printable
from airflow_config_providers.core.variable import ConfigVariable

_OF_SHELLS: Final = ("-", "=", "+", "?")
"""What follows ``${name:`` in a shell to set a default: ``${name:-default}``."""


def unknown_provider(variable: ConfigVariable, known: Collection[str], *, home: str = CONFIG_PROVIDERS) -> str:
    """
    Return the message for a reference to a provider that does not exist.

    :param known: the names of the providers that exist
    :param home: what people call the place where providers are defined
    """
    listed = ", ".join(printable(name) for name in sorted(known)) or "none"
    hint = nearest(variable.provider, known)
    way = no_default(variable) or f"Correct the name, or add the provider to {home}."
    return (
        f"{printable(str(variable))} names the unknown provider '{printable(variable.provider)}'{hint or '.'} "
        f"Known providers: {listed}. {way}"
    )


def no_default(variable: ConfigVariable) -> str:
    """Return a hint that references have no defaults, if ``variable`` has one as in a shell; otherwise empty."""
    if not any(part.startswith(_OF_SHELLS) for part in (variable.path, variable.key)):
        return ""
    return (
        "Kafka's grammar of references has no defaults: write ${provider:path:key} alone, and set the default under "
        "the same key in a lower layer."
    )
