"""A policy on keys that must be set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_config_providers.core.policy import AlterConfigPolicy, Moment, RequestMetadata
from airflow_config_providers.core.text import printable
from airflow_config_providers.dynamic.policies.params import Params
from airflow_config_providers.dynamic.policies.patterns import Patterns
from airflow_config_providers.exceptions import PolicyViolation


class RequiredKeys(AlterConfigPolicy):
    """
    Denies a run whose configuration lacks one of ``keys``, and a change that removes one of them.

    A change of one resource need not add a key that the resource never had: another layer can have it.

    Parameters: ``keys``, a list of keys, or of patterns that must each match at least one key.
    """

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the parameter ``keys``."""
        params = Params(configs)
        self._keys = {key: Patterns([key]) for key in params.texts("keys")}
        params.finish()

    def validate(self, request: RequestMetadata) -> None:
        """Refuse a configuration that lacks a key."""
        missing = [key for key, pattern in self._keys.items() if not pattern.matching(request.configs_after)]
        if request.at is Moment.ALTER:
            missing = [key for key in missing if self._keys[key].matching(request.configs_before)]
        if missing:
            raise PolicyViolation(*(f"'{printable(key)}' must be set. Add it." for key in missing))
