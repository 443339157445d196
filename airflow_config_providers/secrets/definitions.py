"""Where the definitions of the backend's providers stand."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from airflow_config_providers.core import properties
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException, ProviderDefinitionError
from airflow_config_providers.secrets.changing_file import state_of
from airflow_config_providers.secrets.imports import importing


class Definitions(Protocol):
    """Gives ``config.providers`` and what is below it. Two that are equal give the same."""

    def __hash__(self) -> int: ...

    def state(self) -> Hashable:
        """Give what differs when the definitions have changed."""

    def read(self) -> Mapping[str, str]:
        """
        Give the definitions as they are now.

        :raises ConfigProvidersError: they cannot be read
        """


@dataclass(frozen=True, slots=True)
class NoDefinitions:
    """Nothing was said about providers."""

    def __str__(self) -> str:
        return "nothing"

    def state(self) -> Hashable:
        """Give always the same."""
        return None

    def read(self) -> Mapping[str, str]:
        """Refuse."""
        raise ProviderDefinitionError(
            "There is a reference, but no provider. Add providers_file, providers or conn_id to the backend_kwargs."
        )


@dataclass(frozen=True, slots=True)
class FileDefinitions:
    """
    Definitions in a file of Java properties.

    :param path: the file's path
    """

    path: str

    def __str__(self) -> str:
        return printable(self.path)

    def state(self) -> Hashable:
        """Give what differs when the file has changed; None where it cannot be looked at."""
        try:
            return state_of(self.path)
        except OSError:
            return None

    def read(self) -> Mapping[str, str]:
        """Read the file."""
        with importing():
            import javaproperties  # noqa: F401, PLC0415 - so that parse need not

            from airflow_config_providers.spark.layers import read_text  # noqa: PLC0415 - not to start Airflow

        text = read_text(self.path, name=self.path)
        return {entry.key: entry.value for entry in properties.parse(text, name=self.path)}


@dataclass(frozen=True, slots=True)
class WrittenDefinitions:
    """
    Definitions among the backend's own settings.

    :param items: the keys and their values
    """

    items: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return "providers of the backend_kwargs"

    def state(self) -> Hashable:
        """Give always the same."""
        return None

    def read(self) -> Mapping[str, str]:
        """Give them."""
        return dict(self.items)


@dataclass(frozen=True, slots=True)
class ConnectionDefinitions:
    """
    Definitions in a connection of type ``config_providers``, asked for once in each process.

    :param conn_id: the connection
    """

    conn_id: str

    def __str__(self) -> str:
        return f"connection {printable(self.conn_id)}"

    def state(self) -> Hashable:
        """Give always the same."""
        return None

    def read(self) -> Mapping[str, str]:
        """Ask Airflow for the connection."""
        with importing():
            from airflow_config_providers.hooks.config_providers import definitions_of  # noqa: PLC0415 - slow
            from airflow_config_providers.providers.airflow_secrets import connection  # noqa: PLC0415 - slow

        return definitions_of(self.conn_id, connection(self.conn_id))


def chosen(providers_file: str | None, providers: Mapping[str, Any] | str | None, conn_id: str | None) -> Definitions:
    """
    Make of three settings the one that is given.

    :raises ConfigException: more than one is given, or ``providers`` is no mapping of texts
    """
    given = [name for name, value in _named(providers_file, providers, conn_id).items() if value]
    if len(given) > 1:
        raise ConfigException(f"The backend_kwargs have {' and '.join(given)}. Keep one of them.")
    if providers_file:
        return FileDefinitions(providers_file)
    if conn_id:
        return ConnectionDefinitions(conn_id)
    return WrittenDefinitions(_items(providers)) if providers else NoDefinitions()


def _named(providers_file: object, providers: object, conn_id: object) -> dict[str, object]:
    return {"providers_file": providers_file, "providers": providers, "conn_id": conn_id}


def _items(providers: Mapping[str, Any] | str) -> tuple[tuple[str, str], ...]:
    written: Any = providers
    if isinstance(providers, str):
        try:
            written = json.loads(providers)
        except (ValueError, RecursionError):
            written = None
    if not isinstance(written, Mapping) or not all(isinstance(value, str | int) for value in written.values()):
        raise ConfigException("providers in the backend_kwargs is no JSON object of texts. Correct it.")
    return tuple((key, str(value)) for key, value in written.items())
