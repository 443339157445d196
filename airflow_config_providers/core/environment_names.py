"""The names of the environment variables that providers can read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from airflow_config_providers.core.provider import ConfigProvider
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.wording import counted
from airflow_config_providers.exceptions import ProviderUnavailableError, refuse


def can_have_names(kind: object) -> bool:
    """Return whether a class, or a function that makes providers, could have names; not if it inherits the method."""
    return getattr(kind, "environment_names", None) is not ConfigProvider.environment_names


def names_of(provider: ConfigProvider, params: Mapping[str, Any]) -> frozenset[str]:
    """Return the names that a provider with these parameters has: those that it gave before an error, if it raises."""
    found: set[str] = set()
    with suppress(Exception, SystemExit):  # a provider can raise anything
        found.update(provider.environment_names(params))
    return frozenset(found)


def names_in_time(asked: Mapping[str, Callable[[], frozenset[str]]], timeout: float | None) -> frozenset[str]:
    """
    Return the names of several providers, each of which is asked in a thread of its own.

    :param asked: the name of a provider -> returns the names that it has
    :param timeout: the seconds for all of them together; None for no limit
    :raises ProviderUnavailableError: a provider did not answer in time
    """
    if not asked:
        return frozenset()
    from airflow_config_providers.core.concurrency.timed_calls import call_each  # noqa: PLC0415 - slow to import, and rarely needed

    ended = call_each(asked, patience=timeout)
    late = [name for name, outcome in ended.items() if outcome.value is None]
    refuse(ProviderUnavailableError, (_late(name, timeout, " ".join(ended[name].problems)) for name in late))
    return frozenset[str]().union(*(outcome.value or () for outcome in ended.values()))


def _late(name: str, timeout: float | None, problem: str) -> str:
    doing = f"Provider '{printable(name)}' did not name the environment variables that it can read"
    why = f": {problem}" if problem else f" within {counted(timeout or 0, 'second')}."
    return (
        f"{doing}{why} Processes of the job must not inherit them, so it does not start. If importing or creating its "
        f"class takes long, correct the class, or remove the provider from config.providers."
    )
