"""A provider that reads Airflow's connections."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar

from airflow_config_providers.core.provider import ConfigData
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.providers import airflow_secrets
from airflow_config_providers.providers.airflow_provider import AirflowConfigProvider, field_problem, read_fields
from airflow_config_providers.providers.allowed_names import ALLOWLIST_PATTERN, AllowedNames


class AirflowConnectionConfigProvider(AirflowConfigProvider):
    """
    ``${connection:warehouse:password}``: the path is the id of an Airflow connection, the key a field of it.

    Fields are ``conn_type``, ``host``, ``port``, ``schema``, ``login``, ``password``, ``uri``, ``extra``, and
    ``extra.<name>`` for the fields of the extra, at any depth. A field that is not set has no value.
    """

    required_params: ClassVar[Mapping[str, str]] = {ALLOWLIST_PATTERN: "warehouse|spark_.*"}

    def __init__(
        self,
        read: Callable[[str], Any | None] = airflow_secrets.connection,
        has_teams: Callable[[], bool] = airflow_secrets.has_teams,
    ) -> None:
        super().__init__(has_teams)
        self._read = read

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        """
        Read the connection with the id ``path``, once for all ``keys``.

        :raises AccessDeniedError: the pattern does not allow it, whether it exists or not; or Airflow refuses
        :raises ProviderUnavailableError: Airflow cannot answer now
        :raises ConfigException: ``path`` is empty; or something in the extra is asked for, and it is not a JSON object
        """
        _require(path, self.allowed)
        connection = self._read(path)
        if connection is None:
            return ConfigData({}, absence=f"There is no connection '{printable(path)}'. Create it or correct its id.")
        return ConfigData(read_fields(connection, keys, conn_id=path))

    def require_allowed(self, configs: Mapping[str, Any], path: str, keys: Collection[str]) -> None:
        """
        Refuse the id of a connection that the pattern does not allow.

        :raises AccessDeniedError: it is not allowed
        :raises ConfigException: ``path`` is empty
        :raises ProviderDefinitionError: the parameters cannot be used
        """
        _require(path, self._allowed_by(configs))

    def form_problem(self, path: str, key: str) -> str:
        """Return what a reference without an id lacks, or why no connection has a field called ``key``."""
        return field_problem(key) if path else "it lacks the id of the connection. Write it as ${provider:id:field}."


def _require(conn_id: str, allowed: AllowedNames) -> None:
    if not conn_id:
        raise ConfigException(
            "A reference to a connection needs its id as the path, as in ${connection:warehouse:password}. Add it."
        )
    allowed.require("connection", conn_id)
