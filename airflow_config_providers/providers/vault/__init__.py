"""HashiCorp Vault, and servers that speak its API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_config_providers import lazy

if TYPE_CHECKING:
    from airflow_config_providers.providers.vault.provider import VaultConfigProvider as VaultConfigProvider

__getattr__, __dir__, __all__ = lazy.names(__name__, {"provider": "VaultConfigProvider"})
