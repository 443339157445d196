"""The keys that dynamic configuration sets now, and who set them, for the audit of the history on Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from airflow_config_providers.core.alter import ConfigResource, ResourceType
from airflow_config_providers.core.text import printable
from airflow_config_providers.deployment.rows import is_secret
from airflow_config_providers.dynamic import document, history
from airflow_config_providers.dynamic.airflow_store import VariableStore
from airflow_config_providers.dynamic.document import DEPLOYMENT, PREFIX, Document, Sealed, history_name
from airflow_config_providers.dynamic.encoder_rotation import documents
from airflow_config_providers.dynamic.history import Change
from airflow_config_providers.dynamic.inheritance import dynamic_layer
from airflow_config_providers.dynamic.store import Kept

_DEFAULT: Final = f"{PREFIX}.default"
_OF_DAG: Final = f"{PREFIX}.dag."


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
    names = [name for name in documents(store.names(PREFIX)) if name == _DEFAULT or name.startswith(_OF_DAG)]
    owners = {name: _owner(name) for name in names}
    kept = store.read([*names, *map(history_name, owners.values())])
    return [row for name in names for row in _of_document(name, owners[name], kept)]


def _owner(name: str) -> ConfigResource:
    """Return the deployment or the DAG that a document is of."""
    return DEPLOYMENT if name == _DEFAULT else ConfigResource(ResourceType.DAG, name.removeprefix(_OF_DAG))


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
