"""What somebody writes into Airflow's variables who may, without a command, and what a task reads of them."""

from __future__ import annotations

from airflow_config_providers.core.alter import ConfigResource, ResourceType
from airflow_config_providers.core.layers import ConfigLayer
from airflow_config_providers.dynamic.document import Document, name_of, write
from airflow_config_providers.dynamic.inheritance import Open, Read, hidden, layers_of, task_configs
from airflow_config_providers.testing import InMemoryConfigStore

DEPLOYMENT = name_of(ConfigResource(ResourceType.DEFAULT))


def put(store: InMemoryConfigStore, resource: ConfigResource, text: str) -> None:
    """Store the document of ``resource``, and that of the deployment, without which tasks read no other."""
    store.texts.setdefault(DEPLOYMENT, write(Document()))
    store.texts[name_of(resource)] = text


def task_layers(dag_id: str, task_id: str, read: Read, open_: Open = hidden) -> list[ConfigLayer]:
    """Return the layers that a task reads."""
    return layers_of(task_configs(ConfigResource.of_task(dag_id, task_id), read), open_)
