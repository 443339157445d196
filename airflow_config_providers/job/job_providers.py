"""The providers of one run of a Spark job."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from airflow_config_providers.core.closing import ClosedOnExit
from airflow_config_providers.core.on_demand import ProvidersOnDemand
from airflow_config_providers.core.provider import ConfigProvider
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import ConfigVariable, variables
from airflow_config_providers.job.providers_connection import ProvidersConnection, missing_connection
from airflow_config_providers.spark.layers import SUBSTITUTED_BY_SPARK


class JobProviders(ClosedOnExit):
    """
    Opens each of the deployment's providers on first use, and keeps it open until the job has ended.

    A lease of a provider, such as a database user of Vault, is valid only while the provider is open.

    :param conn_id: the connection that defines the providers; it is not read if there are no references
    """

    def __init__(self, conn_id: str) -> None:
        self._connection = ProvidersConnection(conn_id)
        self._open: ProvidersOnDemand | None = None

    def needed_by(self, texts: Iterable[str]) -> Mapping[str, ConfigProvider]:
        """
        Return the providers if ``texts`` have references that could be theirs. Each is opened on first use.

        :raises ProviderDefinitionError: the connection is missing, or its definitions cannot be read
        """
        found = [variable for text in texts for variable in variables(text)]
        names = {variable.provider for variable in found}
        if self._open is None and (names - SUBSTITUTED_BY_SPARK or (names and self._connection.is_defined())):
            self._require_connection(found)
            self._open = self._connection.on_demand()
        if self._open is None or not names:
            return {}
        return self._open

    def _require_connection(self, found: Iterable[ConfigVariable]) -> None:
        if self._connection.is_defined():
            return
        references = sorted({printable(str(one)) for one in found if one.provider not in SUBSTITUTED_BY_SPARK})
        others = f" and {len(references) - 1} more" if references[1:] else ""
        raise missing_connection(self.conn_id, f"refers to {references[0]}{others}")

    @property
    def conn_id(self) -> str:
        """The connection that defines the providers."""
        return self._connection.conn_id

    def missing_connection(self) -> str | None:
        """Return the id of the connection that defines the providers if it is missing; otherwise None."""
        return None if self._connection.is_defined() else self._connection.conn_id

    def named(self, name: str) -> ConfigProvider | None:
        """
        Return the provider of that name; None if there is none.

        :raises ProviderDefinitionError: as for ``needed_by``, or the definition of the provider is wrong
        """
        if self._open is None:
            self._open = self._connection.on_demand()
        return self._open.get(name)

    def environment_names(self) -> frozenset[str]:
        """Return the names of the environment variables that the providers can read; none if none was needed."""
        return self._open.environment_names() if self._open is not None else frozenset()

    def of_driver(self) -> Mapping[str, str]:
        """Return the definitions of driver providers in the connection; nothing if it does not exist."""
        return self._connection.driver_definitions()

    def leave_lent(self, *, is_left: bool) -> None:
        """Let leases outlive this process, or not; see ``ConfigProvider.leave_lent``."""
        if self._open is not None:
            self._open.leave_lent(is_left=is_left)

    def close(self) -> None:
        """Close the providers, which ends their leases."""
        if self._open is not None:
            self._open.close()
