"""Providers that ship with the package, one a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_config_providers import lazy

if TYPE_CHECKING:
    from airflow_config_providers.providers.airflow_connection import (
        AirflowConnectionConfigProvider as AirflowConnectionConfigProvider,
    )
    from airflow_config_providers.providers.airflow_variable import (
        AirflowVariableConfigProvider as AirflowVariableConfigProvider,
    )
    from airflow_config_providers.providers.directory import DirectoryConfigProvider as DirectoryConfigProvider
    from airflow_config_providers.providers.env import EnvVarConfigProvider as EnvVarConfigProvider
    from airflow_config_providers.providers.file import FileConfigProvider as FileConfigProvider
    from airflow_config_providers.providers.secrets_backend import (
        SecretsBackendConfigProvider as SecretsBackendConfigProvider,
    )
    from airflow_config_providers.providers.vault.provider import VaultConfigProvider as VaultConfigProvider

__getattr__, __dir__, __all__ = lazy.names(
    __name__,
    {
        "airflow_connection": "AirflowConnectionConfigProvider",
        "airflow_variable": "AirflowVariableConfigProvider",
        "directory": "DirectoryConfigProvider",
        "env": "EnvVarConfigProvider",
        "file": "FileConfigProvider",
        "secrets_backend": "SecretsBackendConfigProvider",
        "vault.provider": "VaultConfigProvider",
    },
)
