"""Which texts are keys of a configuration."""

from __future__ import annotations

from airflow_config_providers.core.registry import is_reserved
from airflow_config_providers.core.variable import scan
from airflow_config_providers.exceptions import ConfigException, ReservedKeyError


def key_problem(key: str, where: str) -> ConfigException | None:
    """
    Make the error for a key that no layer may have; None for one that any may have.

    :param where: what the message calls it
    """
    if is_reserved(key):
        return ReservedKeyError(
            f"{where}: config.providers and all below it belong to the deployment. Define providers in the "
            f"config_providers connection, and remove the key here."
        )
    if not key or not key.isprintable():
        return ConfigException(f"{where}: a key is not empty and has no control characters. Rename it.")
    if scan(key):
        return ConfigException(f"{where}: a key cannot hold a reference. Write the key out.")
    return None
