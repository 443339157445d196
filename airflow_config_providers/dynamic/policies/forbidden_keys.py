"""A policy on keys that must not be set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_config_providers.core.policy import AlterConfigPolicy, RequestMetadata
from airflow_config_providers.core.text import printable
from airflow_config_providers.dynamic.policies.driver_options import all_settings, unreadable
from airflow_config_providers.dynamic.policies.params import Params
from airflow_config_providers.dynamic.policies.patterns import Patterns
from airflow_config_providers.exceptions import PolicyViolation


class ForbiddenKeys(AlterConfigPolicy):
    """
    Denies a configuration that has one of ``keys``.

    Parameters: ``keys``, a list of keys or patterns; ``except``, a list of those that are allowed anyway.
    """

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the parameters ``keys`` and ``except``."""
        params = Params(configs)
        self._keys = Patterns(params.texts("keys"), excluded=params.texts("except", ()))
        params.finish()

    def validate(self, request: RequestMetadata) -> None:
        """Refuse each such key."""
        found = self._keys.matching({key for key, _ in all_settings(request.configs_after)})
        problems = [f"'{printable(key)}' may not be set. Remove it." for key in found]
        if problems := [*problems, *unreadable(request.configs_after).values()]:
            raise PolicyViolation(*problems)
