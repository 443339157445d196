"""A provider that does not answer."""

from __future__ import annotations

from collections.abc import Collection

from airflow_config_providers.core import ConfigData, ConfigProvider
from airflow_config_providers.exceptions import ProviderUnavailableError


class Silent(ConfigProvider):
    """Is asked, and cannot."""

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        raise ProviderUnavailableError("it is silent")

    def check(self) -> str:
        raise ProviderUnavailableError("it is silent")
