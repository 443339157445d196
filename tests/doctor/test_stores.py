from __future__ import annotations

import pytest

from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource, ResourceType
from airflow_config_providers.core.diagnosis import Severity
from airflow_config_providers.doctor.stores import check_documents
from airflow_config_providers.dynamic import ConfigAdmin
from airflow_config_providers.dynamic.document import DEPLOYMENT, name_of
from airflow_config_providers.testing import InMemoryConfigStore

FLIGHTS = ConfigResource(ResourceType.DAG, "flights")


@pytest.fixture
def store() -> InMemoryConfigStore:
    """A store with configuration of the deployment and of a DAG."""
    store = InMemoryConfigStore()
    for resource in (DEPLOYMENT, FLIGHTS):
        ConfigAdmin(store).incremental_alter_configs({resource: [AlterConfigOp("spark.app.size", "1")]})
    return store


def test_documents_that_tasks_read_are_no_finding(store):
    assert list(check_documents(store)) == []


@pytest.mark.parametrize("resource", [pytest.param(DEPLOYMENT, id="deployment"), pytest.param(FLIGHTS, id="DAG")])
def test_a_document_that_cannot_be_read_is_an_error_that_names_its_variable(store, resource):
    store.texts[name_of(resource)] = '{"format": 1, broken'

    (found,) = check_documents(store)
    assert found.severity is Severity.ERROR
    assert found.what == f"The dynamic configuration in the variable '{name_of(resource)}' cannot be read."
    assert "or restore it" in found.way_out


def test_a_document_of_a_dag_that_the_deployment_does_not_list_is_a_warning(store):
    del store.texts[name_of(DEPLOYMENT)]

    (found,) = check_documents(store)
    assert found.severity is Severity.WARNING
    assert f"Tasks do not read the variable '{name_of(FLIGHTS)}'" in found.what


def test_of_many_findings_only_the_first_are_shown(store):
    store.texts |= {f"config_providers.dynamic.dag.d{number}": "broken" for number in range(30)}

    assert [one.what for one in check_documents(store)][10:] == ["There are more such variables."]


def test_many_documents_that_are_not_listed_are_no_error(store):
    for number in range(30):
        dag = ConfigResource(ResourceType.DAG, f"d{number}")
        ConfigAdmin(store).incremental_alter_configs({dag: [AlterConfigOp("spark.app.size", "1")]})
    del store.texts[name_of(DEPLOYMENT)]

    found = list(check_documents(store))
    assert found[10].what == "There are more such variables."
    assert {one.severity for one in found} == {Severity.WARNING}
