"""What a resource has and inherits of the dynamic configuration, as layers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from airflow_config_providers.core.definition.config_def import ConfigDef
from airflow_config_providers.core.keys import current_name
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource, LayeredConfig
from airflow_config_providers.core.resource import ConfigResource, ResourceType
from airflow_config_providers.core.sensitive import HIDDEN
from airflow_config_providers.dynamic import document
from airflow_config_providers.dynamic.document import DEPLOYMENT, EMPTY, Document, Sealed, StoredConfig, Value, name_of
from airflow_config_providers.exceptions import ProviderUnavailableError

Open = Callable[[Sealed], str]
"""Returns the plain text of a sealed secret."""

Read = Callable[[str], str | None]
"""
Returns what is stored under a name; None if there is nothing.

:raises ProviderUnavailableError: the store is unavailable
"""

SOURCES: Final[Mapping[ResourceType, ConfigSource]] = {
    ResourceType.DEFAULT: ConfigSource.DYNAMIC_DEFAULT_CONFIG,
    ResourceType.DAG: ConfigSource.DYNAMIC_DAG_CONFIG,
    ResourceType.TASK: ConfigSource.DYNAMIC_TASK_CONFIG,
}
"""Kind of a resource -> the source of its dynamic configuration."""

_ATTEMPTS: Final = 5
"""How often two documents are read that do not belong together, since a change can come between them."""


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


def settled(
    configs: Mapping[ConfigResource, StoredConfig], beneath: Sequence[ConfigLayer], definition: ConfigDef
) -> dict[str, Value]:
    """
    Return current name of a key -> the value that wins, under whichever name it is set; a sealed secret stays sealed.

    :param configs: the configurations that a resource has and inherits, strongest first
    :param beneath: the weaker layers
    """
    layered = LayeredConfig([*(dynamic_layer(one, config) for one, config in configs.items()), *beneath], definition)
    sealed = {
        name: next(config.values[name] for config in configs.values() if name in config.values)
        for name in layered.secrets
    }
    older = definition.older_names
    return {current_name(name, older): sealed.get(name, text) for name, text in layered.settled.items()}


def task_configs(task: ConfigResource, read: Read) -> dict[ConfigResource, StoredConfig]:
    """
    Return what a task has and inherits at one moment, strongest first.

    This costs one read if nothing was ever set for the DAG or its tasks, and otherwise two, no matter how much is
    configured. If both documents are changed together between the two reads, it costs a third, and two more for each
    further change meanwhile. If the deployment's document does not exist, nothing was ever changed, since the first
    change of anything creates it.

    :raises ConfigException: a document cannot be read
    """
    own, default = _documents(task, read)
    documents = {name_of(task): own, name_of(DEPLOYMENT): default}
    return {resource: documents[name_of(resource)].config(resource) for resource in inherited(task)}


def layers_of(configs: Mapping[ConfigResource, StoredConfig], open_: Open = hidden) -> list[ConfigLayer]:
    """
    Return the layers of ``configs``, without those that are empty.

    :param open_: returns the text of a sealed secret; called only when a job gets it
    """
    return [dynamic_layer(resource, config, open_) for resource, config in configs.items() if config.values]


def _documents(task: ConfigResource, read: Read) -> tuple[Document, Document]:
    default = first = _document(DEPLOYMENT, read)
    own = _document(task, read) if default.lists(name_of(task)) else EMPTY
    for _ in range(_ATTEMPTS):
        if own.beside <= default.version:  # nothing changed both after the deployment's was read, which was first
            return own, default
        default = _document(DEPLOYMENT, read)
        if own.beside == default.version:  # both were written together
            return own, default
        if own.beside < default.version:  # a later change can have written both, so ``own`` can be outdated
            own = _document(task, read)
    raise _unreadable(task, is_changing=default.version != first.version)


def _unreadable(task: ConfigResource, *, is_changing: bool) -> ProviderUnavailableError:
    """Return the error that the documents of a task and of the deployment do not belong together."""
    if is_changing:
        return ProviderUnavailableError(
            f"The dynamic configuration of {task} and that of the deployment were changed together in each of "
            f"{_ATTEMPTS} attempts to read them. Try again, or change them less often."
        )
    return ProviderUnavailableError(
        f"The dynamic configuration of {task} is newer than that of the deployment. Perhaps an older "
        f"'{name_of(DEPLOYMENT)}' was restored, or only '{name_of(task)}'. Restore both from the same backup."
    )


def _document(resource: ConfigResource, read: Read) -> Document:
    name = name_of(resource)
    return document.read(read(name), name=name)
