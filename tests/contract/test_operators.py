"""What we lean on in the operators of other packages, and in the way Airflow treats a task's class."""

from __future__ import annotations

import importlib
import inspect
import json
import typing

import pytest
from airflow import policies
from airflow.sdk import DAG, BaseOperator
from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance

from airflow_config_providers import cluster_policy
from airflow_config_providers.job.authored_job import AuthoredJob
from airflow_config_providers.job.fields import JobFields
from airflow_config_providers.job.operator_specs import SUPPORTED
from airflow_config_providers.operators.configure import configured
from airflow_config_providers.spark import named_arguments

GIVEN = {
    "LivyOperator": {"file": "job.py"},
    "SparkSqlOperator": {"sql": "select 1"},
    "PySparkOperator": {"python_callable": lambda spark: None},
    "EmrAddStepsOperator": {"job_flow_id": "j-1", "steps": []},
    "EmrServerlessStartJobOperator": {"application_id": "a", "execution_role_arn": "r", "job_driver": {}},
    "DataprocSubmitJobOperator": {"job": {"spark_job": {}}, "region": "r", "project_id": "p"},
    "DataprocCreateBatchOperator": {"batch": {"runtime_config": {}}, "region": "r", "project_id": "p"},
}


@pytest.fixture(params=SUPPORTED, ids=lambda path: path.rpartition(".")[2])
def kind(request):
    """Each class that we list, where its package is installed."""
    module, _, name = request.param.rpartition(".")
    return getattr(pytest.importorskip(module), name)


def spec(kind):
    return SUPPORTED[f"{kind.__module__}.{kind.__qualname__}"]


def test_an_operator_keeps_its_fields_where_we_look(kind):
    with DAG("d", schedule=None):
        task = kind(task_id="t", **GIVEN.get(kind.__name__, {}))

    missing = [place.field for place in spec(kind).conf if not hasattr(task, place.field)]
    missing += [label for label in spec(kind).words if not hasattr(task, label.partition("[")[0])]
    assert missing == []


def test_every_operator_takes_references(kind):
    with DAG("d", schedule=None):
        task = configured(kind)(task_id="t", config_files=["a"], **GIVEN.get(kind.__name__, {}))

    assert (task.config_files, type(task).__name__) == (["a"], kind.__name__)


def test_a_task_can_change_its_class(kind):
    """``object layout differs`` would be raised where the operator's first base is another one than of the class."""
    with DAG("d", schedule=None):
        task = kind(task_id="t", **GIVEN.get(kind.__name__, {}))
    task.__class__ = configured(kind)

    assert isinstance(task, kind)


CONF = {"spark.app.x": "1", "spark.app.y": "${vault:apps/db:y}"}
CLUSTER = {"new_cluster": {"spark_conf": CONF}}
REFERENCE = "${vault:apps/db:x}"
WRITTEN = {
    "LivyOperator": {"file": "job.py", "conf": CONF, "args": ["--x", REFERENCE]},
    "SparkSqlOperator": {"sql": f"select '{REFERENCE}'", "conf": CONF},
    "PySparkOperator": {"python_callable": lambda spark: None, "config_kwargs": CONF, "op_args": [REFERENCE]},
    "SparkKubernetesOperator": {"template_spec": {"spec": {"sparkConf": CONF, "arguments": [REFERENCE]}}},
    "EmrAddStepsOperator": {"job_flow_id": "j-1", "steps": [{"Args": [REFERENCE]}]},
    "EmrServerlessStartJobOperator": {
        "application_id": "a",
        "execution_role_arn": "r",
        "job_driver": {"sparkSubmit": {"entryPoint": REFERENCE}},
        "configuration_overrides": {
            "applicationConfiguration": [{"classification": "spark-defaults", "properties": CONF}]
        },
    },
    "DataprocSubmitJobOperator": {
        "job": {"pyspark_job": {"properties": CONF, "args": [REFERENCE]}},
        "region": "r",
        "project_id": "p",
    },
    "DataprocCreateBatchOperator": {
        "batch": {"runtime_config": {"properties": CONF}, "pyspark_batch": {"args": [REFERENCE]}},
        "region": "r",
        "project_id": "p",
    },
    "DatabricksSubmitRunOperator": {"json": {**CLUSTER, "x": REFERENCE}},
}


def test_what_a_mapped_operator_would_have_is_told_from_its_arguments(kind):
    if kind.__name__ not in WRITTEN:
        pytest.skip("kept as it is written")
    given = WRITTEN[kind.__name__]
    with DAG("d", schedule=None):
        task = configured(kind)(task_id="t", **given)
    fields = JobFields.of_arguments(spec(kind), {"task_id": "t", **given}, task.template_fields)
    told = AuthoredJob.of_unrendered(fields)

    assert told == AuthoredJob.of_unrendered(JobFields.of_operator(task, spec(kind)))
    assert [layer.configs for layer in told.layers] == ([CONF] if spec(kind).conf else [])
    assert list(told.texts.values()) in ([REFERENCE], [f"select '{REFERENCE}'"])


def test_several_clusters_of_a_mapped_operator_are_told_too():
    databricks = pytest.importorskip("airflow.providers.databricks.operators.databricks")
    kind, given = databricks.DatabricksSubmitRunOperator, {"tasks": [CLUSTER, {"for_each_task": {"task": CLUSTER}}]}
    with DAG("d", schedule=None):
        task = configured(kind)(task_id="t", **given)
    told = AuthoredJob.of_unrendered(JobFields.of_arguments(spec(kind), given, task.template_fields))

    assert told == AuthoredJob.of_unrendered(JobFields.of_operator(task, spec(kind)))
    assert (told.layers, len(told.texts)) == ((), 2)


def test_the_mark_of_a_policy_is_airflows():
    assert cluster_policy.hookimpl.project_name == policies.hookimpl.project_name
    assert list(inspect.signature(policies.task_policy).parameters) == ["task"]


def test_the_trigger_of_livy_keeps_what_it_is_made_with():
    livy = pytest.importorskip("airflow.providers.apache.livy.triggers.livy")
    _, arguments = livy.LivyTrigger(batch_id=1, spark_params={"a": 1}).serialize()

    assert livy.LivyTrigger(**arguments).serialize()[1] == arguments


def test_the_trigger_of_livy_fetches_what_a_batch_has_printed_by_the_hook_that_it_makes_once():
    livy = pytest.importorskip("airflow.providers.apache.livy.triggers.livy")
    trigger = livy.LivyTrigger(batch_id=1, spark_params={})

    assert trigger._get_async_hook() is trigger._get_async_hook()
    assert inspect.iscoroutinefunction(trigger._get_async_hook().dump_batch_logs)


def test_the_hook_of_spark_sql_takes_words_and_runs_them_with_arguments_of_popen():
    from airflow.providers.apache.spark.hooks.spark_sql import SparkSqlHook

    hook = SparkSqlHook(sql="select 1", conf={"spark.x": "1"}, master="local", yarn_queue="q")
    hints = inspect.signature(hook.run_query).parameters

    assert hook._prepare_command(["--properties-file", "f"])[-2:] == ["--properties-file", "f"]
    assert hook._conf == {"spark.x": "1"}
    assert hints["kwargs"].kind is inspect.Parameter.VAR_KEYWORD


def test_the_hook_of_spark_sql_logs_what_its_process_has_as_standard_output():
    from airflow.providers.apache.spark.hooks.spark_sql import SparkSqlHook

    source = inspect.getsource(SparkSqlHook.run_query)

    assert "self._sp = subprocess.Popen(" in source
    assert "for line in iter(self._sp.stdout):" in source


def test_the_sql_operator_and_its_hook_keep_its_arguments_where_we_look(monkeypatch):
    from airflow.providers.apache.spark.operators.spark_sql import SparkSqlOperator

    monkeypatch.setenv("AIRFLOW_CONN_SPARK_SQL_DEFAULT", json.dumps({"conn_type": "spark_sql", "host": "local[1]"}))
    with DAG("d", schedule=None):
        task = SparkSqlOperator(
            task_id="t", sql="select 1", **{name: f"the-{name}" for name in named_arguments.SQL.keys}
        )
        default = SparkSqlOperator(task_id="u", sql="select 1")
    fields, hook = JobFields.of_operator(task, spec(SparkSqlOperator)), task._get_hook()

    assert {name: fields.argument(name) for name in fields.named} == {
        name: getattr(hook, f"_{name}") for name in named_arguments.SQL.keys
    }
    assert {name: getattr(hook, f"_{name}") for name in named_arguments.SQL.keys} == {
        name: f"the-{name}" for name in named_arguments.SQL.keys
    }
    assert default._name == named_arguments.SQL.default_name


def test_the_jdbc_operator_keeps_its_arguments_where_we_look():
    from airflow.providers.apache.spark.operators.spark_jdbc import SparkJDBCOperator

    with DAG("d", schedule=None):
        task = SparkJDBCOperator(task_id="t")
    hook = inspect.getsource(type(task)._get_hook)

    kept = JobFields.of_operator(task, spec(SparkJDBCOperator)).named_fields
    assert [name for name in kept if not hasattr(task, name) or f"self.{name}" not in hook] == []
    assert task._spark_app_name == named_arguments.JDBC.default_name


def test_the_function_of_pyspark_is_called_where_we_call_it():
    from airflow.providers.apache.spark.decorators.pyspark import _PySparkDecoratedOperator
    from airflow.providers.apache.spark.operators.spark_pyspark import PySparkOperator

    assert "self.config_kwargs" in inspect.getsource(PySparkOperator.execute_callable)
    assert _PySparkDecoratedOperator.execute_callable is PySparkOperator.execute_callable
    assert 'if not conf.get("spark.remote") and' in inspect.getsource(PySparkOperator.execute_callable)


def test_what_an_operator_pushes_goes_through_an_attribute_that_can_be_replaced():
    ti = RuntimeTaskInstance.model_construct(task_id="t")
    vars(ti)["xcom_push"] = "ours"

    assert ti.xcom_push == "ours"


def test_a_task_goes_on_by_this_method():
    assert list(inspect.signature(BaseOperator.resume_execution).parameters) == [
        "self",
        "next_method",
        "next_kwargs",
        "context",
    ]


def test_the_mixins_are_where_the_table_says(kind):
    module, _, name = spec(kind).mixin.partition(":")

    assert typing.cast("type", getattr(importlib.import_module(module), name)).__mro__
