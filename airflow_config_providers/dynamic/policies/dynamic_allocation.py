"""A policy against dynamic allocation that loses shuffle files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_config_providers.core.policy import AlterConfigPolicy, RequestMetadata
from airflow_config_providers.dynamic.policies.if_then import IfThen
from airflow_config_providers.dynamic.policies.params import Params

_RULE = {
    "if": {"spark.dynamicAllocation.enabled": "true"},
    "then": [
        {"spark.dynamicAllocation.shuffleTracking.enabled": "true"},
        {"spark.shuffle.service.enabled": "true"},
        {"spark.decommission.enabled": "true", "spark.storage.decommission.shuffleBlocks.enabled": "true"},
    ],
}


class DynamicAllocation(AlterConfigPolicy):
    """
    Denies dynamic allocation that would lose shuffle files together with executors.

    Dynamic allocation needs shuffle tracking, a shuffle service, or executors that migrate their blocks. Tracking is on
    by default since Spark 3.4; the policy requires it explicitly, so that it applies to every version. There are no
    parameters.
    """

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Refuse parameters."""
        Params(configs).finish()
        self._rule = IfThen()
        self._rule.configure(_RULE)

    def validate(self, request: RequestMetadata) -> None:
        """Refuse such dynamic allocation."""
        self._rule.validate(request)
