"""A requested change of dynamic configuration, and what no change is made for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from airflow_config_providers.core.alter import AlterConfigOp
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import scan
from airflow_config_providers.dynamic.planner import Edit, PlannedChange
from airflow_config_providers.dynamic.static_layers import Layers, StaticLayers, static_layers
from airflow_config_providers.exceptions import ConfigException, StaleVersionError


@dataclass(frozen=True, slots=True)
class ChangeRequest:
    """
    A requested change, the same in each attempt.

    :param layers: returns the layers that are not dynamic; called once for each resource, in all attempts together
    :param if_version: the versions that resources must have
    :param written: resource -> the keys that the request names
    :param operations: resource -> what the request does, if it is incremental
    :param restored: the version that it restores, if it is a rollback
    """

    edits: Mapping[ConfigResource, Edit]
    layers: Layers
    validate_only: bool
    if_version: Mapping[ConfigResource, int] | None
    written: Mapping[ConfigResource, Collection[str]] = field(default_factory=dict, kw_only=True)
    operations: Mapping[ConfigResource, Sequence[AlterConfigOp]] = field(default_factory=dict, kw_only=True)
    restored: int | None = field(default=None, kw_only=True)
    _static: dict[ConfigResource, StaticLayers] = field(default_factory=dict, init=False, repr=False)

    def static(self, resource: ConfigResource) -> StaticLayers:
        """Return the layers of ``resource`` that are not dynamic."""
        if resource not in self._static:
            self._static[resource] = static_layers(self.layers, resource)
        return self._static[resource]

    def refuse_stale(self, resource: ConfigResource, version: int) -> None:
        """
        Make sure that a resource with this ``version`` has the one that the request names.

        :raises StaleVersionError: it has another one
        """
        refuse_stale(resource, version, (self.if_version or {}).get(resource))

    def refreshes(self, plan: PlannedChange) -> bool:
        """Return whether the request names a key that has references, so that it asks for their values."""
        values = [plan.after.get(key) for key in self.written.get(plan.resource, ())]
        return any(isinstance(value, str) and scan(value) for value in values)


def refuse_odd(resource: ConfigResource) -> None:
    """
    Make sure that ``resource`` can have dynamic configuration.

    :raises ConfigException: it cannot
    """
    if resource.problem:
        raise ConfigException(resource.problem)


def refuse_stale(resource: ConfigResource, version: int, wanted: int | None) -> None:
    """
    Make sure that a resource with this ``version`` has the one that a request names.

    :raises StaleVersionError: it has another one
    """
    if wanted is not None and wanted != version:
        raise StaleVersionError(
            f"{resource} has version {version}, but the change is for version {printable(str(wanted))}. Describe it, "
            f"and decide again."
        )
