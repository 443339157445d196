"""Providers that ship with the package, one a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_config_providers import lazy

if TYPE_CHECKING:
    from airflow_config_providers.providers.directory import DirectoryConfigProvider as DirectoryConfigProvider
    from airflow_config_providers.providers.env import EnvVarConfigProvider as EnvVarConfigProvider
    from airflow_config_providers.providers.file import FileConfigProvider as FileConfigProvider

__getattr__, __dir__, __all__ = lazy.names(
    __name__,
    {
        "directory": ["DirectoryConfigProvider"],
        "env": ["EnvVarConfigProvider"],
        "file": ["FileConfigProvider"],
    },
)
