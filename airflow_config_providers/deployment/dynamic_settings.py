"""The keys that dynamic configuration sets now, and who set them, for the audit of the history on Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.core.text import printable
from airflow_config_providers.deployment.rows import is_secret
from airflow_config_providers.dynamic import document, history
from airflow_config_providers.dynamic.airflow_store import VariableStore
from airflow_config_providers.dynamic.document import PREFIX, Document, Sealed, documents, history_name, owner_of
from airflow_config_providers.dynamic.history import Change
from airflow_config_providers.dynamic.inheritance import dynamic_layer
from airflow_config_providers.dynamic.store import Kept


class DynamicSetting(NamedTuple):
    """
    A key that dynamic configuration sets now.

    :param dag: empty for the default of the deployment
    :param task: empty for all tasks
    :param value: the string with its references; None for a secret
    :param by: who set it; empty if that is no longer known
    :param at: when, in ISO 8601 and UTC; empty if that is no longer known
    """

    source: str
    dag: str
    task: str
    key: str
    value: str | None
    origin: str
    by: str
    at: str


def dynamic_settings() -> list[DynamicSetting]:
    """
    Return what dynamic configuration sets now.

    A DAG whose id is too long for the name of a variable is left out: the name does not say which it is.

    :raises ProviderUnavailableError: the database is unavailable
    :raises ConfigException: a document or its history cannot be read
    """
    store = VariableStore("")
    owners = {name: owner for name in documents(store.names(PREFIX)) if (owner := owner_of(name))}
    kept = store.read([*owners, *map(history_name, owners.values())])
    return [row for name, owner in owners.items() for row in _of_document(name, owner, kept)]


def _of_document(name: str, owner: ConfigResource, kept: Mapping[str, Kept]) -> Iterator[DynamicSetting]:
    of_history = history_name(owner)
    found = document.read(kept[name].text, name=name)
    changes = history.read(kept.get(of_history, Kept()).text, name=of_history).changes
    yield from _of_resource(owner, found, changes)
    for task in found.tasks:
        yield from _of_resource(ConfigResource.of_task(owner.dag_id, task), found, changes)


def _of_resource(resource: ConfigResource, found: Document, changes: Sequence[Change]) -> Iterator[DynamicSetting]:
    config = found.config(resource)
    layer = dynamic_layer(resource, config)
    for key, value in config.values.items():
        change = _last(key, [one for one in changes if one.task_id == resource.task_id])
        shown = None if isinstance(value, Sealed) or is_secret(key, value) else value
        made = (printable(change.by), change.at) if change else ("", "")
        yield DynamicSetting(layer.source.name, resource.dag_id, resource.task_id, key, shown, layer.name, *made)


def _last(key: str, changes: Sequence[Change]) -> Change | None:
    return next((one for one in reversed(changes) if key in one.became), None)
