"""Configuration that people change while DAGs are deployed: its store, description, changes and policies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_config_providers import lazy

if TYPE_CHECKING:
    from airflow_config_providers.dynamic.admin import ConfigAdmin as ConfigAdmin
    from airflow_config_providers.dynamic.alterer import AlterConfigResult as AlterConfigResult
    from airflow_config_providers.dynamic.document import Sealed as Sealed
    from airflow_config_providers.dynamic.followers import ConfigFollower as ConfigFollower
    from airflow_config_providers.dynamic.password_encoder import PasswordEncoder as PasswordEncoder
    from airflow_config_providers.dynamic.store import ConfigStore as ConfigStore

__getattr__, __dir__, __all__ = lazy.names(
    __name__,
    {
        "admin": "AlterConfigResult ConfigAdmin",
        "document": "Sealed",
        "followers": "ConfigFollower",
        "password_encoder": "PasswordEncoder",
        "store": "ConfigStore",
    },
)
