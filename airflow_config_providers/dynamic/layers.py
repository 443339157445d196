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
"""Gives the text of a secret that is sealed."""


def hidden(sealed: Sealed) -> str:
    """Stand in for a secret where nobody is to see it."""
    return HIDDEN


def shown(values: Mapping[str, Value]) -> dict[str, str]:
    """Give ``values`` as people and policies may see them."""
    return {key: hidden(value) if isinstance(value, Sealed) else value for key, value in values.items()}


def inherited(resource: ConfigResource) -> Iterator[ConfigResource]:
    """Give ``resource`` and those that it inherits from, the strongest first."""
    yield resource
    if resource.type is ResourceType.TASK:
        yield ConfigResource(ResourceType.DAG, resource.dag_id)
    if resource.type is not ResourceType.DEFAULT:
        yield ConfigResource(ResourceType.DEFAULT)


def dynamic_layer(resource: ConfigResource, config: StoredConfig, open_: Open = hidden) -> ConfigLayer:
    """Make the layer of what ``resource`` itself has; a sealed secret is opened when a job is to get it."""
    name = f"dynamic configuration of {resource}, version {config.version}"
    secrets = {key: partial(open_, value) for key, value in config.values.items() if isinstance(value, Sealed)}
    return ConfigLayer(SOURCES[resource.type], name, shown(config.values), secrets=secrets)


def settled(configs: Sequence[StoredConfig], beneath: Sequence[ConfigLayer]) -> dict[str, Value]:
    """
    Give key -> the value that wins; a secret that is sealed stays so.

    :param configs: what a resource has and inherits, the strongest first
    :param beneath: weaker layers
    """
    winners: dict[str, Value] = dict(LayeredConfig(beneath).settled)
    for config in reversed(configs):
        winners.update(config.values)
    return winners
