"""Providers that ship with the package, one a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_config_providers import lazy

if TYPE_CHECKING:
    from airflow_config_providers.providers.directory import DirectoryConfigProvider
    from airflow_config_providers.providers.env import EnvVarConfigProvider
    from airflow_config_providers.providers.file import FileConfigProvider

__all__ = ["DirectoryConfigProvider", "EnvVarConfigProvider", "FileConfigProvider"]

__getattr__, __dir__ = lazy.names(
    __name__,
    {
        "DirectoryConfigProvider": "airflow_config_providers.providers.directory",
        "EnvVarConfigProvider": "airflow_config_providers.providers.env",
        "FileConfigProvider": "airflow_config_providers.providers.file",
    },
)
