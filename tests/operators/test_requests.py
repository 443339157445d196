"""What a task asks Airflow's server for, beside what the stock operator asks for."""

from __future__ import annotations

import pytest
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource, ResourceType
from airflow_config_providers.dynamic import ConfigAdmin
from airflow_config_providers.dynamic.document import name_of
from airflow_config_providers.exceptions import PolicyViolation
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from tests.operators.conftest import CANARY
from tests.operators.stock import NOT_DURABLE

DEFAULT = ConfigResource(ResourceType.DEFAULT)
DAG = ConfigResource(ResourceType.DAG, "flights")
OTHER = ConfigResource(ResourceType.DAG, "trains")
TASK = ConfigResource.of_task("flights", "job")
DEFINITIONS = "config_providers_default"

pytestmark = pytest.mark.usefixtures("spark_submit")


def asked(run, kind):
    """Return what the task requested from its supervisor, in order."""
    return [getattr(message, "conn_id", None) or message.key for message in run.supervisor.sent(kind)]


@pytest.fixture
def run_job(dag, run_task):
    """Run a job of the operator ``kind``, and give what came of it."""

    def run(kind=ConfiguredSparkSubmitOperator, **kwargs):
        kwargs = {"conf": {"spark.app.mode": "fast"}, "application": "job.py", **NOT_DURABLE, **kwargs}
        return run_task(kind(task_id="job", dag=dag, **kwargs))

    return run


def test_a_job_without_references_asks_for_the_connections_that_the_stock_job_asks_for(dag, run_task, run_job):
    stock = SparkSubmitOperator(task_id="stock", conf={"spark.app.mode": "fast"}, application="job.py", dag=dag)

    assert asked(run_job(), "GetConnection") == asked(run_task(stock), "GetConnection")


@pytest.mark.parametrize(
    "kwargs",
    [
        pytest.param({"conf": {"spark.app.key": "${dir:/run/secrets:key}"}}, id="in-the-configuration"),
        pytest.param({"application_args": ["${dir:/run/secrets:key}"]}, id="in-a-field"),
        pytest.param({"env_vars": {"KEY": "${dir:/run/secrets:key}"}}, id="in-the-environment"),
        pytest.param({"config_files": ["${dir:/run/secrets:file}"]}, id="in-the-path-of-a-file"),
        pytest.param({"resolve_in": "driver"}, id="left-to-the-driver"),
    ],
)
def test_a_job_that_needs_providers_asks_for_their_definitions_once(run_job, kwargs):
    assert asked(run_job(**kwargs), "GetConnection").count(DEFINITIONS) == 1


@pytest.fixture
def alter(store):
    """Change a resource as the command line does: ``alter(DAG, {key: value})``."""

    def change(resource, configs):
        ops = [AlterConfigOp(key, text) for key, text in configs.items()]
        ConfigAdmin(store).incremental_alter_configs({resource: ops})

    return change


@pytest.mark.usefixtures("connections")
def test_a_reference_in_dynamic_configuration_alone_is_resolved(run_job, alter, password, spark_submit):
    alter(DAG, {"spark.app.password": password})

    run_job()

    assert spark_submit.spark_conf["spark.app.password"] == CANARY


@pytest.mark.parametrize("changed", [DEFAULT, OTHER], ids=["the-deployment", "another-DAG"])
def test_a_job_whose_dag_was_never_changed_asks_for_one_variable(run_job, alter, changed):
    alter(changed, {"spark.app.mode": "slow"})

    assert asked(run_job(), "GetVariable") == [name_of(DEFAULT)]


@pytest.mark.parametrize("changed", [DEFAULT, DAG, TASK], ids=["deployment", "DAG", "task"])
def test_a_job_without_references_gets_what_was_changed(run_job, alter, spark_submit, changed):
    alter(changed, {"spark.app.mode": "slow"})

    run_job()

    assert spark_submit.spark_conf["spark.app.mode"] == "slow"


@pytest.fixture
def few_cores(tmp_path, monkeypatch):
    """A policy of the deployment."""
    policies = tmp_path / "policies.yaml"
    policies.write_text("policies:\n- name: few\n  class: bounds\n  params: {spark.executor.cores: {max: 4}}\n")
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__POLICIES_FILE", str(policies))


@pytest.mark.parametrize("changed", [None, OTHER, DAG], ids=["nothing", "another-DAG", "this-DAG"])
def test_policies_are_asked_about_a_job_without_references(
    run_job, alter, spark_submit, tmp_path, monkeypatch, changed
):
    policies = tmp_path / "policies.yaml"
    policies.write_text("policies:\n- name: few\n  class: bounds\n  params: {spark.executor.cores: {max: 4}}\n")
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__POLICIES_FILE", str(policies))
    if changed:
        alter(changed, {"spark.app.mode": "slow"})

    run = run_job(conf={"spark.executor.cores": "8"})

    assert isinstance(run.error, PolicyViolation)
    assert not spark_submit()
