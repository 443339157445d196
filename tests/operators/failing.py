"""A provider that answers with an error."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from airflow_config_providers import exceptions
from airflow_config_providers.core.provider import ConfigData, ConfigProvider


class FailingConfigProvider(ConfigProvider):
    """The path is the name of the error."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Take no parameters."""

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        raise getattr(exceptions, path)("the answer is no")
