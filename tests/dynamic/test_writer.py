"""The list of documents that the deployment's document has, and what a task reads because of it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import partial
from types import SimpleNamespace

import pytest

from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource, ResourceType
from airflow_config_providers.dynamic.admin import ConfigAdmin
from airflow_config_providers.dynamic.document import history_name, name_of, read_json
from airflow_config_providers.dynamic.writer import ChangeAuthor
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.testing import InMemoryConfigStore
from tests.dynamic.written import task_layers
from tests.limits import LONGEST

DEFAULT = ConfigResource(ResourceType.DEFAULT)
DAG = ConfigResource(ResourceType.DAG, "flights")
TASK = ConfigResource.of_task("flights", "report")
OTHER = ConfigResource(ResourceType.DAG, "trains")


@pytest.fixture
def store() -> InMemoryConfigStore:
    return InMemoryConfigStore()


def change(store, *resources, value="v"):
    ConfigAdmin(store).incremental_alter_configs({one: [AlterConfigOp("k", value)] for one in resources})


def reads(store, dag_id="flights"):
    """Read the layers of a task, and give the names that were asked for."""
    asked = []
    task_layers(dag_id, "report", lambda name: asked.append(name) or store.texts.get(name))
    return asked


def without_list(store):
    """Change what is stored into what a store without a list of names would have."""
    name = name_of(DEFAULT)
    found = json.loads(store.texts[name])
    del found["listed"]
    found["format"] = 1
    store.texts[name] = json.dumps(found)
    return store


def test_a_task_of_a_deployment_that_was_never_changed_costs_one_read(store):
    assert reads(store) == [name_of(DEFAULT)]


@pytest.mark.parametrize("resource", [DEFAULT, OTHER], ids=["of-the-deployment", "of-another-DAG"])
def test_a_task_whose_dag_was_never_changed_costs_one_read(store, resource):
    change(store, resource)

    assert reads(store) == [name_of(DEFAULT)]


@pytest.mark.parametrize("resource", [DAG, TASK], ids=["DAG", "task"])
def test_a_task_whose_dag_was_changed_costs_two_reads(store, resource):
    change(store, resource)

    assert reads(store) == [name_of(DEFAULT), name_of(resource)]


def test_without_a_list_all_is_read(store):
    change(store, DAG)

    assert reads(without_list(store)) == [name_of(DEFAULT), name_of(DAG)]


def test_a_change_where_there_is_no_list_lists_what_is_there(store):
    change(store, DAG, DEFAULT)
    without_list(store)

    change(store, OTHER)

    assert [len(reads(store, dag_id)) for dag_id in ("flights", "trains", "ships")] == [2, 2, 1]


def test_a_store_that_cannot_list_what_it_keeps_has_a_document_of_the_deployment_too():
    store = InMemoryConfigStore()
    change(SimpleNamespace(read=store.read, swap=store.swap), DAG)

    assert reads(store) == [name_of(DEFAULT), name_of(DAG)]


def test_the_time_of_a_change_is_in_utc_to_the_second():
    at = datetime.fromisoformat(ChangeAuthor().clock())

    assert (at.tzinfo, at.microsecond) == (UTC, 0)
    assert abs((datetime.now(UTC) - at).total_seconds()) < LONGEST


def test_histories_are_not_listed(store):
    change(store, DAG)

    change(without_list(store), OTHER)

    listed = json.loads(store.texts[name_of(DEFAULT)])["listed"]
    assert len(listed) == 2
    assert history_name(DAG) in store.texts


def test_a_change_of_a_dag_that_is_listed_leaves_the_deployments_document_alone(store):
    change(store, DAG)
    before = store.texts[name_of(DEFAULT)]

    change(store, DAG, value="w")

    assert store.texts[name_of(DEFAULT)] == before


def test_the_list_is_no_change_of_the_deployment(store):
    change(store, DAG)

    assert ConfigAdmin(store).describe_configs([DEFAULT]) == {DEFAULT: {}}
    assert history_name(DEFAULT) not in store.texts


class Interfering(InMemoryConfigStore):
    """Has others write between what one reads and what one writes."""

    def __init__(self, *others):
        super().__init__()
        self._others = list(others)

    def swap(self, expected, texts, audit):
        if self._others:
            self._others.pop()(self)
        return super().swap(expected, texts, audit)


def test_an_older_version_that_would_not_list_what_it_writes_refuses_to_write(store):
    change(store, DAG)

    with pytest.raises(ConfigException, match="It has format 2, but this version supports 1: upgrade"):
        read_json(
            store.texts[name_of(DEFAULT)],
            dict,
            name="config_providers.dynamic.default",
            what="dynamic configuration",
            newest=1,
        )


@pytest.mark.parametrize("stored", [(), (DEFAULT,), (DEFAULT, DAG)], ids=["nothing", "default", "default-and-DAG"])
def test_two_that_list_different_dags_at_once_are_both_listed(stored):
    store = Interfering()
    if stored:
        change(store, *stored)
        without_list(store)
    store._others = [partial(change_by_another, OTHER)]

    change(store, DAG)

    assert len(reads(store)) == len(reads(store, "trains")) == 2


def change_by_another(resource, store):
    change(store, resource)


@pytest.mark.parametrize("listed", [7, [7]], ids=["number", "list of a number"])
def test_a_list_that_is_none_is_an_error_and_no_empty_list(store, listed):
    change(store, DAG)
    name = name_of(DEFAULT)
    store.texts[name] = json.dumps({**json.loads(store.texts[name]), "listed": listed})

    with pytest.raises(ConfigException, match="cannot be read"):
        reads(store)


def imported(store):
    """Let something else write the variable of a DAG."""
    kept = store.texts[name_of(DAG)]
    del store.texts[name_of(DAG)], store.texts[name_of(DEFAULT)]
    change(store, OTHER)
    store.texts[name_of(DAG)] = kept


def of_deployment_deleted(store):
    del store.texts[name_of(DEFAULT)]


@pytest.mark.parametrize("happened", [imported, of_deployment_deleted])
def test_who_describes_a_document_that_is_not_listed_is_warned(store, happened):
    change(store, DAG)
    happened(store)
    warnings = []

    ConfigAdmin(store, warn=warnings.append).describe_configs([DAG])

    assert "does not list it" in warnings[0]


@pytest.mark.parametrize("resource", [DEFAULT, DAG, OTHER], ids=["deployment", "DAG", "a DAG without a document"])
def test_who_describes_anything_else_is_not_warned(store, resource):
    change(store, DEFAULT, DAG)
    warnings = []

    ConfigAdmin(store, warn=warnings.append).describe_configs([resource])

    assert warnings == []
