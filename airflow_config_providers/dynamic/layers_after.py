"""The dynamic layers of a resource after changes that are planned."""

from __future__ import annotations

from airflow_config_providers.core.layers import ConfigLayer
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.dynamic.document import StoredConfig
from airflow_config_providers.dynamic.inheritance import dynamic_layer, inherited
from airflow_config_providers.dynamic.planner import DynamicLayers, PlannedChange, Plans
from airflow_config_providers.dynamic.snapshot import Snapshot


def layers_after(snapshot: Snapshot, plans: Plans) -> DynamicLayers:
    """Return what returns the dynamic layers of a resource after ``plans``."""

    def layers(resource: ConfigResource) -> list[ConfigLayer]:
        configs = configs_after(resource, plans, snapshot)
        return [dynamic_layer(one, config) for one, config in configs.items()]

    return layers


def configs_after(resource: ConfigResource, plans: Plans, snapshot: Snapshot) -> dict[ConfigResource, StoredConfig]:
    """Return what ``resource`` has and inherits after ``plans``, strongest first."""
    return {
        one: _config_after(plans[one], snapshot) if one in plans else snapshot.numbered(one)
        for one in inherited(resource)
    }


def _config_after(plan: PlannedChange, snapshot: Snapshot) -> StoredConfig:
    version = snapshot.base(plan.resource).version + 1 if plan.keys else plan.before.version
    return StoredConfig(plan.after, version)
