"""The places in which the backend's providers can be defined."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_config_providers.core import properties
from airflow_config_providers.core.document import loaded
from airflow_config_providers.core.java_text import written
from airflow_config_providers.core.keys import holds_definitions
from airflow_config_providers.core.named_file import state_of
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException, ProviderDefinitionError
from airflow_config_providers.secrets.answering import importing


class DefinitionSource(ABC):
    """A source of ``config.providers`` and the keys below it. Equal objects read the same definitions."""

    __slots__ = ()

    def state(self) -> Hashable:
        """Return a value that changes when the definitions change; None if they never do."""
        return None

    @abstractmethod
    def read(self) -> Mapping[str, str]:
        """
        Return the current definitions.

        :raises ConfigProvidersError: the definitions cannot be read
        """


@dataclass(frozen=True, slots=True)
class NoDefinitions(DefinitionSource):
    """No providers are defined."""

    def __str__(self) -> str:
        return "nothing"

    def read(self) -> Mapping[str, str]:
        """Raise an error that says how to define providers."""
        raise ProviderDefinitionError(
            "There is a reference, but no provider. Add providers_file, providers or conn_id to backend_kwargs."
        )


@dataclass(frozen=True, slots=True)
class FileDefinitions(DefinitionSource):
    """
    Definitions in a file of Java properties.

    :param path: the path of the file
    """

    path: str

    def __str__(self) -> str:
        return printable(self.path)

    def state(self) -> Hashable:
        """Return a value that changes when the file changes; None if the file is not accessible."""
        try:
            return state_of(self.path)
        except OSError:
            return None

    def read(self) -> Mapping[str, str]:
        """Return the definitions in the file."""
        with importing():
            import javaproperties  # noqa: F401, PLC0415 - so that parse does not

            from airflow_config_providers.spark.layer_files import read_text  # noqa: PLC0415 - not to start Airflow

        text = read_text(self.path, name=self.path)
        return {entry.key: entry.value for entry in properties.parse(text, name=self.path)}


@dataclass(frozen=True, slots=True)
class WrittenDefinitions(DefinitionSource):
    """
    Definitions in the backend's own settings.

    :param items: the keys and their values
    """

    items: tuple[tuple[str, str], ...] = field(repr=False)

    def __str__(self) -> str:
        return "providers in backend_kwargs"

    def read(self) -> Mapping[str, str]:
        """Return the definitions."""
        return dict(self.items)


@dataclass(frozen=True, slots=True)
class ConnectionDefinitions(DefinitionSource):
    """
    Definitions in a connection of type ``config_providers``, which each process reads once.

    :param conn_id: the id of the connection
    """

    conn_id: str

    def __str__(self) -> str:
        return f"connection {printable(self.conn_id)}"

    def read(self) -> Mapping[str, str]:
        """Return the definitions in the connection, which Airflow looks up."""
        with importing():
            from airflow_config_providers.job.providers import Definitions  # noqa: PLC0415 - slow
            from airflow_config_providers.providers.airflow_secrets import connection  # noqa: PLC0415 - slow

        return Definitions(self.conn_id, connection(self.conn_id)).of_tasks()


def chosen(
    providers_file: str | None, providers: Mapping[str, Any] | str | None, conn_id: str | None
) -> DefinitionSource:
    """
    Return the definitions for the one of three settings that is given.

    :raises ConfigException: more than one is given, ``providers_file`` is no path, or ``providers`` is not a mapping of
        strings
    """
    settings = {"providers_file": providers_file, "providers": providers, "conn_id": conn_id}
    given = [name for name, value in settings.items() if value]
    if len(given) > 1:
        raise ConfigException(f"backend_kwargs contains {' and '.join(given)}. Keep one of them.")
    if providers_file:
        return FileDefinitions(_path(providers_file))
    if conn_id:
        return ConnectionDefinitions(conn_id)
    return WrittenDefinitions(_items(providers)) if providers else NoDefinitions()


def _path(providers_file: str) -> str:
    if holds_definitions(providers_file):  # with a token, perhaps, so they are not shown
        raise ConfigException(
            "providers_file in backend_kwargs holds definitions, and not the path of a file. Write them into a file, "
            "or into providers, as a JSON object."
        )
    return providers_file


def _items(providers: Mapping[str, Any] | str) -> tuple[tuple[str, str], ...]:
    found = loaded(providers) if isinstance(providers, str) else providers
    if not isinstance(found, Mapping) or not all(isinstance(value, str | int) for value in found.values()):
        raise ConfigException("providers in backend_kwargs is not a JSON object with string values. Correct it.")
    return tuple((key, written(value)) for key, value in found.items())
