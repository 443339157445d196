"""The hook of the connection that defines a deployment's providers."""

from __future__ import annotations

from typing import Any

from airflow_config_providers.airflow_compat import BaseHook
from airflow_config_providers.core.on_demand import ProvidersOnDemand
from airflow_config_providers.core.registry import ConfiguredProviders
from airflow_config_providers.exceptions import ConfigProvidersError
from airflow_config_providers.job.providers import CONN_TYPE, ProvidersConnection, deployment_registry
from airflow_config_providers.providers.checks import ask_each, summary


class ConfigProvidersHook(BaseHook):
    """
    Makes the providers that a ``config_providers`` connection defines. The connection is read once.

    The connection's extra has ``config.providers`` and the keys below it as fields of its own, as Java properties in
    ``properties``, or in the file that ``properties_file`` names. If a key appears twice, the first in this list wins.

    :param conn_id: the id of the connection
    """

    conn_name_attr = "conn_id"
    default_conn_name = "config_providers_default"
    conn_type = CONN_TYPE
    hook_name = "Config Providers"

    def __init__(self, conn_id: str = default_conn_name, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.conn_id = conn_id
        self._providers = ProvidersConnection(conn_id)

    def get_conn(self) -> ConfiguredProviders:
        """
        Return the providers, configured. The caller must close them.

        :raises ProviderDefinitionError: there is no such connection, or a definition in it is wrong
        """
        return deployment_registry().open(self.definitions())

    def on_demand(self) -> ProvidersOnDemand:
        """
        Return the providers, each of which is made and configured when it is needed. The caller must close them.

        :raises ProviderDefinitionError: there is no such connection, or its definitions cannot be read
        """
        return self._providers.on_demand()

    def definitions(self) -> dict[str, str]:
        """Return ``config.providers`` and the keys below it from the connection."""
        return self._providers.definitions()

    def test_connection(self) -> tuple[bool, str]:
        """
        Make every provider, check whether it can answer, and close it again; for the button in the UI.

        Providers with wrong definitions do not prevent the check of the others. No secret is read. A provider that does
        not respond within a minute is reported as unavailable.
        """
        try:
            definitions = self.definitions()
            self._providers.require_provider(definitions)
            providers, problems = deployment_registry().open_each(definitions)
        except ConfigProvidersError as error:
            return False, str(error)
        with providers:
            is_good, text = summary(ask_each(providers), providers.origins)
        if not problems:
            return is_good, text
        return False, "\n".join([*problems, *([text] if providers else [])])
