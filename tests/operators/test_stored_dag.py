"""What ``apply_to`` adds to what Airflow stores of a DAG."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from airflow.exceptions import SerializationError
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import DAG
from airflow.serialization.serialized_objects import DagSerialization

from airflow_config_providers.core.resolver import Unresolved
from airflow_config_providers.deployment.objections import JobRules
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.operators.configure import configure_task
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator

CONF = {f"spark.app.key{i}": "${vault:apps/db:password}" for i in range(3)}
CLUSTER = {"spark_version": "15.4.x", "num_workers": 2, "spark_conf": CONF}

SUBMISSION = {"application": "job.py", "conf": CONF}

FAMILIES = {
    "apache.spark.operators.spark_submit.SparkSubmitOperator": SUBMISSION,
    "apache.spark.operators.spark_sql.SparkSqlOperator": {"sql": "SELECT 1", "conf": CONF},
    "apache.spark.operators.spark_jdbc.SparkJDBCOperator": {"jdbc_table": "flights", "spark_conf": CONF},
    "apache.livy.operators.livy.LivyOperator": {"file": "job.py", "conf": CONF},
    "databricks.operators.databricks.DatabricksSubmitRunOperator": {
        "new_cluster": CLUSTER,
        "spark_python_task": {"python_file": "job.py"},
    },
}


def operator_of(path):
    """Return the operator of a provider that is possibly not installed."""
    module, _, name = path.rpartition(".")
    return getattr(pytest.importorskip(f"airflow.providers.{module}"), name)


def stored(kind, *, applied, number=1, **kwargs):
    """Return what Airflow stores of a DAG with tasks of the operator ``kind``."""
    with DAG("flights", schedule=None) as dag:
        for i in range(number):
            task = kind(task_id=f"task{i}", **kwargs)
            if applied:
                configure_task(task)
    return DagSerialization.to_dict(dag)


def members(dag):
    """Return what is stored of the first task."""
    return dag["dag"]["tasks"][0]["__var"]


@pytest.mark.parametrize(("path", "kwargs"), FAMILIES.items(), ids=[path.rpartition(".")[2] for path in FAMILIES])
def test_nothing_is_added_but_names_of_fields_and_what_describe_shows(path, kwargs):
    kind = operator_of(path)
    stock, ours = (members(stored(kind, applied=applied, **kwargs)) for applied in (False, True))

    assert {name for name in ours if ours[name] != stock.get(name)} <= {"template_fields", "_authored_job"}
    assert set(stock) <= set(ours)


def test_a_dag_of_spark_submit_jobs_grows_by_less_than_a_tenth():
    """The names of the two template fields are all that is added."""
    stock, ours = (
        len(json.dumps(stored(SparkSubmitOperator, applied=applied, number=100, **SUBMISSION)))
        for applied in (False, True)
    )

    assert ours / stock < 1.1


def test_the_operator_is_stored_without_its_defaults():
    ours = members(stored(ConfiguredSparkSubmitOperator, applied=False, **SUBMISSION))

    assert not {"effective_config", "config_files", "_files", "_authored_job"} & set(ours)


USUAL = replace(JobRules.usual(), passes_master=True)
OF_TEAM = JobRules("team", True, passes_master=True)


@pytest.mark.parametrize(
    ("kwargs", "job"),
    [
        pytest.param({}, USUAL, id="what-the-deployment-says"),
        pytest.param({"config_conn_id": "team", "allow_exposed_arguments": True}, OF_TEAM, id="its-own"),
        pytest.param({"unresolved": "keep"}, replace(USUAL, unresolved=Unresolved.KEEP), id="it-keeps-references"),
    ],
)
def test_what_a_job_says_of_its_providers_is_known_without_a_run(kwargs, job):
    dag = stored(ConfiguredSparkSubmitOperator, applied=False, **SUBMISSION, **kwargs)

    (task,) = DagSerialization.from_dict(dag).tasks
    assert JobRules.of(task) == job


def test_what_a_mapped_job_says_by_the_default_args_of_its_dag_is_known_without_a_run():
    with DAG("flights", schedule=None, default_args={"config_conn_id": "team", "allow_exposed_arguments": True}) as dag:
        ConfiguredSparkSubmitOperator.partial(task_id="job", **SUBMISSION).expand(application_args=[["1"], ["2"]])

    (task,) = DagSerialization.from_dict(DagSerialization.to_dict(dag)).tasks
    assert JobRules.of(task) == OF_TEAM


@pytest.mark.parametrize("character", [pytest.param("\0", id="nul"), pytest.param("\ud800", id="half-of-a-pair")])
@pytest.mark.parametrize(
    ("argument", "value"),
    [
        pytest.param("conf", lambda text: {"spark.app.x": text}, id="value"),
        pytest.param("conf", lambda text: {text: "x"}, id="key"),
        pytest.param("application_args", lambda text: ["x", text], id="item"),
        pytest.param("driver_memory", lambda text: text, id="named-argument"),
    ],
)
def test_a_string_that_postgresql_cannot_store_is_an_error_of_the_dag_file(character, argument, value):
    with pytest.raises(SerializationError) as error:
        stored(ConfiguredSparkSubmitOperator, applied=False, application="job.py", **{argument: value(f"a{character}")})

    assert f"{argument}: a string contains a NUL character" in str(error.value)
    assert character not in str(error.value)


def test_a_string_of_a_mapped_task_that_postgresql_cannot_store_is_an_error_of_the_dag_file():
    with pytest.raises(ConfigException, match="conf: a string contains a NUL character"):
        ConfiguredSparkSubmitOperator.partial(task_id="job", conf={"spark.app.x": "\0"})
