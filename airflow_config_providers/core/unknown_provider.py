"""References to providers that do not exist."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from airflow_config_providers.core.keys import CONFIG_PROVIDERS
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import ConfigVariable, no_default
from airflow_config_providers.core.wording import nearest


def unknown_provider(
    variable: ConfigVariable,
    known: Collection[str],
    *,
    unlisted: Collection[str] = (),
    home: str = CONFIG_PROVIDERS,
) -> str:
    """
    Return the message for a reference to a provider that does not exist.

    :param known: the names of the providers that exist
    :param unlisted: the names of providers that have a class, but are not in the list
    :param home: what people call the place where providers are defined
    """
    if variable.provider in unlisted:
        return (
            f"{printable(str(variable))} names provider '{printable(variable.provider)}', which is defined but not "
            f"listed in {home}. Add it to that list."
        )
    listed = ", ".join(printable(name) for name in sorted(known)) or "none"
    hint = nearest(variable.provider, known)
    way = (
        no_default(variable)
        or _colon_hint(variable.provider, known)
        or f"Correct the name, or add the provider to {home}."
    )
    return (
        f"{printable(str(variable))} names the unknown provider '{printable(variable.provider)}'{hint or '.'} "
        f"Known providers: {listed}. {way}"
    )


def _colon_hint(written: str, known: Iterable[str]) -> str:
    """Return the hint that the colon after a provider's name is missing; empty if ``written`` begins with none."""
    names = [name for name in known if written.startswith(f"{name}/")]
    return f"A colon is missing after '{printable(max(names, key=len))}'. Add it." if names else ""
