"""Documents as they were at one moment."""

from __future__ import annotations

import pytest

from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource, ResourceType
from airflow_config_providers.dynamic.admin import ConfigAdmin
from airflow_config_providers.dynamic.document import DEPLOYMENT, history_name, name_of
from airflow_config_providers.dynamic.store import Snapshot
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.testing import InMemoryConfigStore

DAG = ConfigResource(ResourceType.DAG, "flights")
TASK = ConfigResource.of_task("flights", "report")


@pytest.fixture
def store() -> InMemoryConfigStore:
    store = InMemoryConfigStore()
    ConfigAdmin(store).incremental_alter_configs({TASK: [AlterConfigOp("a", "1")]})
    return store


def test_it_holds_what_was_read_and_the_deployment(store):
    assert Snapshot.read(store, [TASK]).kept.keys() == {name_of(DEPLOYMENT), name_of(DAG)}
    assert Snapshot.read(store, [TASK], histories=True).kept.keys() == {
        name_of(DEPLOYMENT),
        name_of(DAG),
        history_name(DAG),
    }


def test_without_a_document_of_the_deployment_it_holds_what_a_change_would_write_it_from(store):
    del store.texts[name_of(DEPLOYMENT)]
    other = ConfigResource(ResourceType.DAG, "trains")

    assert Snapshot.read(store, [other]).kept.keys() == {name_of(DEPLOYMENT), name_of(other)}
    assert Snapshot.read(store, [other], histories=True).kept.keys() == {
        *(name_of(one) for one in (DEPLOYMENT, DAG, other)),
        *(history_name(one) for one in (DEPLOYMENT, other)),
    }


def test_what_was_parsed_for_one_resource_is_not_parsed_for_another(store):
    snapshot = Snapshot.read(store, [TASK, DAG], histories=True)

    assert snapshot.document(TASK) is snapshot.document(DAG)
    assert snapshot.history(TASK) is snapshot.history(DAG)


def test_what_cannot_be_read_is_told_each_time(store):
    store.texts[name_of(DAG)] = "odd"
    snapshot = Snapshot.read(store, [DAG])

    for _ in range(2):
        with pytest.raises(ConfigException, match="cannot be read"):
            snapshot.document(DAG)
