"""Layers of dynamic configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from airflow_config_providers.core.alter import ConfigResource, ResourceType
from airflow_config_providers.core.data import HIDDEN
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource, LayeredConfig
from airflow_config_providers.dynamic.document import Sealed, StoredConfig, Value

SOURCES: Final[Mapping[ResourceType, ConfigSource]] = {
    ResourceType.DEFAULT: ConfigSource.DYNAMIC_DEFAULT_CONFIG,
    ResourceType.DAG: ConfigSource.DYNAMIC_DAG_CONFIG,
    ResourceType.TASK: ConfigSource.DYNAMIC_TASK_CONFIG,
}

Open = Callable[[Sealed], str]
"""Returns the plain text of a sealed secret."""


def hidden(sealed: Sealed) -> str:
    """Return ``[hidden]`` in place of a secret that must not be seen."""
    return HIDDEN


def shown(values: Mapping[str, Value]) -> dict[str, str]:
    """Return ``values`` as people and policies may see them, with secrets hidden."""
    return {key: hidden(value) if isinstance(value, Sealed) else value for key, value in values.items()}


def inherited(resource: ConfigResource) -> Iterator[ConfigResource]:
    """Yield ``resource`` and the resources from which it inherits, strongest first."""
    yield resource
    if resource.type is ResourceType.TASK:
        yield ConfigResource(ResourceType.DAG, resource.dag_id)
    if resource.type is not ResourceType.DEFAULT:
        yield ConfigResource(ResourceType.DEFAULT)


def dynamic_layer(resource: ConfigResource, config: StoredConfig, open_: Open = hidden) -> ConfigLayer:
    """Return the layer of ``resource`` itself; a sealed secret is opened only when a job gets it."""
    name = f"dynamic configuration of {resource}, version {config.version}"
    secrets = {key: partial(open_, value) for key, value in config.values.items() if isinstance(value, Sealed)}
    return ConfigLayer(SOURCES[resource.type], name, shown(config.values), secrets=secrets)


def settled(configs: Sequence[StoredConfig], beneath: Sequence[ConfigLayer]) -> dict[str, Value]:
    """
    Return key -> the value that wins; a sealed secret stays sealed.

    :param configs: the configurations that a resource has and inherits, strongest first
    :param beneath: the weaker layers
    """
    winners: dict[str, Value] = dict(LayeredConfig(beneath).settled)
    for config in reversed(configs):
        winners.update(config.values)
    return winners
