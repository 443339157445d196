"""What the providers of Airflow's own variables and connections have in common."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping
from typing import Any

from airflow_config_providers.core.provider import require_configured
from airflow_config_providers.core.subscriptions import PolledConfigProvider
from airflow_config_providers.providers import airflow_secrets
from airflow_config_providers.providers.allowed_names import AllowedNames


class AirflowConfigProvider(PolledConfigProvider, ABC):
    """
    A provider that asks Airflow for names that ``allowlist.pattern`` allows.

    :param has_teams: returns whether the deployment has several teams
    """

    def __init__(self, has_teams: Callable[[], bool]) -> None:
        self._has_teams = has_teams
        self._allowed: AllowedNames | None = None

    @property
    def allowed(self) -> AllowedNames:
        """The names that may be asked for."""
        return require_configured(self._allowed)

    def configure(self, configs: Mapping[str, Any]) -> None:
        """
        Take ``allowlist.pattern`` and ``poll.interval``.

        :raises ProviderDefinitionError: the pattern is not a regular expression, or the interval not a number
        """
        super().configure(configs)
        self._allowed = self._allowed_by(configs)

    def _allowed_by(self, configs: Mapping[str, Any]) -> AllowedNames:
        return AllowedNames.of(configs, has_teams=self._has_teams())

    def check(self) -> str:
        """
        Create the secrets backends of the deployment without asking them anything, and return their names.

        :raises ProviderUnavailableError: one cannot be created
        """
        return airflow_secrets.check()
