"""The dynamic configuration of a task that is about to run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.core.layers import ConfigLayer
from airflow_config_providers.dynamic import document
from airflow_config_providers.dynamic.document import EMPTY, Document, name_of
from airflow_config_providers.dynamic.layers import Open, dynamic_layer, hidden, inherited
from airflow_config_providers.dynamic.snapshot import DEPLOYMENT
from airflow_config_providers.exceptions import ProviderUnavailableError

Read = Callable[[str], str | None]
"""
Returns what is stored under a name; None if there is nothing.

:raises ProviderUnavailableError: the store is unavailable
"""

_ATTEMPTS: Final = 5


def task_layers(dag_id: str, task_id: str, read: Read, open_: Open = hidden) -> list[ConfigLayer]:
    """
    Return the layers of a task at one moment, without layers that are empty.

    This costs one read if nothing was ever set for the DAG or its tasks, and otherwise two, no matter how much is
    configured. If both documents are changed together between the two reads, it costs a third. If the deployment's
    document does not exist, nothing was ever changed, since the first change of anything creates it.

    :param open_: returns the text of a sealed secret; called only when a job gets it
    :raises ConfigException: a document cannot be read
    """
    task = ConfigResource.of_task(dag_id, task_id)
    own, default = _documents(task, read)
    documents = {name_of(task): own, name_of(DEPLOYMENT): default}
    configs = ((resource, documents[name_of(resource)].config(resource)) for resource in inherited(task))
    return [dynamic_layer(resource, config, open_) for resource, config in configs if config.values]


def _documents(task: ConfigResource, read: Read) -> tuple[Document, Document]:
    default = _document(DEPLOYMENT, read)
    own = _document(task, read) if default.lists(name_of(task)) else EMPTY
    for _ in range(_ATTEMPTS):
        if own.beside <= default.version:
            return own, default
        default = _document(DEPLOYMENT, read)
    raise ProviderUnavailableError(
        f"The dynamic configuration of {task} is newer than that of the deployment. Perhaps an older "
        f"'{name_of(DEPLOYMENT)}' was restored, or only '{name_of(task)}'. Restore both from the same backup."
    )


def _document(resource: ConfigResource, read: Read) -> Document:
    name = name_of(resource)
    return document.read(read(name), name=name)
