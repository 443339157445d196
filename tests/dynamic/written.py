"""What somebody writes into Airflow's variables who may, without a command."""

from __future__ import annotations

from airflow_config_providers.core.alter import ConfigResource, ResourceType
from airflow_config_providers.dynamic.document import Document, name_of, write
from airflow_config_providers.testing import InMemoryConfigStore

DEPLOYMENT = name_of(ConfigResource(ResourceType.DEFAULT))


def put(store: InMemoryConfigStore, resource: ConfigResource, text: str) -> None:
    """Store the document of ``resource``, and that of the deployment, without which tasks read no other."""
    store.texts.setdefault(DEPLOYMENT, write(Document()))
    store.texts[name_of(resource)] = text
