"""The providers of one job, each of which is opened on first use."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress

from airflow_config_providers import settings
from airflow_config_providers.core.closed_on_exit import ClosedOnExit
from airflow_config_providers.core.on_demand import ProvidersOnDemand
from airflow_config_providers.core.provider import ConfigProvider
from airflow_config_providers.core.reload import RELOAD_ACTION_KEYS, ReloadAction
from airflow_config_providers.core.resolver import Unresolved
from airflow_config_providers.core.text import first_of, printable
from airflow_config_providers.core.variable import ConfigVariable, variables
from airflow_config_providers.exceptions import ConfigException, ProviderDefinitionError
from airflow_config_providers.job.providers_connection import (
    ProvidersConnection,
    deployment_registry,
    home_of,
    missing_connection,
)
from airflow_config_providers.spark.substitutions import SUBSTITUTED_BY_SPARK


class JobProviders(ProvidersConnection, ClosedOnExit):
    """
    Opens each of the deployment's providers on first use, and keeps it open until the job has ended.

    A lease of a provider, such as a database user of Vault, is valid only while the provider is open.

    :param conn_id: the connection that defines the providers; it is not read if there are no references
    """

    def __init__(self, conn_id: str) -> None:
        super().__init__(conn_id)
        self._open: ProvidersOnDemand | None = None

    @property
    def home(self) -> str:
        """Where the providers are defined, for messages, with a doubt about the connection if it defines none."""
        if self._open is None or self._open or self._open.unlisted or self._connection is None:
            return home_of(self.conn_id)
        return home_of(self.conn_id, self._connection.conn_type)

    def needed_by(self, texts: Iterable[str]) -> Mapping[str, ConfigProvider]:
        """
        Return the providers if ``texts`` have references that could be theirs. Each is opened on first use.

        :raises ProviderDefinitionError: the connection is missing, or its definitions cannot be read
        """
        found = [variable for text in texts for variable in variables(text)]
        names = {variable.provider for variable in found}
        if self._open is None and (names - SUBSTITUTED_BY_SPARK or (names and self.is_defined())):
            if not self.is_defined():
                raise self._missing(found)
            definitions = self.definitions()
            self.require_provider(definitions)
            self._open = deployment_registry().on_demand(definitions)
        if self._open is None or not names:
            return {}
        return self._open

    def refusals(self, texts: Collection[str], unresolved: Unresolved) -> dict[ConfigVariable, str]:
        """
        Return why references in ``texts`` will never have a value, as far as that is known without opening a provider.

        :raises ProviderDefinitionError: as for ``needed_by``
        """
        known, fails = self.needed_by(texts), unresolved is Unresolved.FAIL
        found = dict.fromkeys(variable for text in texts for variable in variables(text))
        asked = [one for one in found if one.provider in known or (fails and one.provider not in SUBSTITUTED_BY_SPARK)]
        return deployment_registry().refusals(self.definitions(), asked, home=self.home) if asked else {}

    def _missing(self, found: Iterable[ConfigVariable]) -> ProviderDefinitionError:
        references = sorted({str(one) for one in found if one.provider not in SUBSTITUTED_BY_SPARK})
        return missing_connection(self.conn_id, f"refers to {first_of(references, most=1)}")

    def names(self) -> frozenset[str]:
        """Return the names of the providers; none if no connection defines them, or its definitions cannot be read."""
        with suppress(ProviderDefinitionError):
            return frozenset(self.on_demand() if self._open is None else self._open)
        return frozenset()

    def named(self, name: str) -> ConfigProvider | None:
        """
        Return the provider of that name; None if there is none.

        :raises ProviderDefinitionError: as for ``needed_by``, or the definition of the provider is wrong
        """
        if self._open is None:
            self._open = self.on_demand()
        return self._open.get(name)

    def reload_action(self) -> ReloadAction | None:
        """
        Return what the connection says about running jobs whose secrets change; None if nothing, or it was not needed.

        :raises ProviderDefinitionError: it says something else than ``none`` or ``restart``
        """
        if self._open is None:
            return None
        extra = self._definitions.extra
        found = {key: str(extra[key]) for key in RELOAD_ACTION_KEYS if key in extra}
        try:
            return ReloadAction.of(found)
        except ConfigException as error:
            problems = error.problems
        raise ProviderDefinitionError(*(f"Connection '{printable(self.conn_id)}': {text}" for text in problems))

    def environment_names(self) -> frozenset[str]:
        """
        Return the names of the environment variables that the providers can read; none if none was needed.

        :raises ProviderUnavailableError: a provider did not answer within ``resolve_timeout``
        """
        return frozenset() if self._open is None else self._open.environment_names(timeout=settings.resolve_timeout())

    def keep_leases(self, *, is_left: bool) -> None:
        """Let leases outlive this process, or not; see ``ConfigProvider.keep_leases``."""
        if self._open is not None:
            self._open.keep_leases(is_left=is_left)

    def close(self) -> None:
        """Close the providers, which ends their leases."""
        if self._open is not None:
            self._open.close()
