"""Which jobs of each operator are no Python programs, and what their fields get."""

from __future__ import annotations

from pathlib import PurePath

import pytest

from airflow_config_providers.job.fields import PYTHON_RUNNER, JobFields
from airflow_config_providers.job.operator_specs import SUPPORTED, OperatorSpec


def said(operator, fields):
    """Ask about the operator of that name."""
    (spec,) = [spec for path, spec in SUPPORTED.items() if path.endswith(f".{operator}")]
    return JobFields(spec, (), fields.get, {}).not_python()


def task(**fields):
    return {"tasks": [{"task_key": "a", "notebook_task": {}}, {"task_key": "b", **fields}]}


JAR = {"spark_jar_task": {"main_class_name": "a.B"}}
SUBMITTED = {"spark_submit_task": {"parameters": ["--class", "a.B", "dbfs:/job.jar"]}}


@pytest.mark.parametrize(
    ("operator", "fields", "place"),
    [
        ("SparkSubmitOperator", {"_java_class": "a.B", "application": "job.jar"}, "java_class"),
        ("SparkSubmitOperator", {"application": "s3://bucket/job.jar"}, "application"),
        ("SparkSqlOperator", {"sql": "select 1"}, "sql"),
        ("LivyOperator", {"spark_params": {"file": "job.jar"}}, "spark_params['file']"),
        ("LivyOperator", {"spark_params": {"file": "job.jar", "class_name": "a.B"}}, "spark_params['class_name']"),
        (
            "SparkKubernetesOperator",
            {"template_spec": {"spark": {"spec": {"type": "Java"}}}},
            "template_spec['spark']['spec']['type']",
        ),
        ("SparkKubernetesOperator", {"template_spec": {"spec": {"type": "Scala"}}}, "template_spec['spec']['type']"),
        (
            "SparkKubernetesOperator",
            {"template_spec": {"spec": {"jars": "local:///job.jar", "pyFiles": "local:///job.py"}}},
            "template_spec['spec']['jars']",
        ),
        (
            "SparkKubernetesOperator",
            {"template_spec": {"spark": {"spec": {"mainClass": "a.B"}}}},
            "template_spec['spark']['spec']['mainClass']",
        ),
        (
            "SparkKubernetesOperator",
            {"template_spec": {"spec": {"sparkRFiles": "local:///job.R"}}},
            "template_spec['spec']['sparkRFiles']",
        ),
        (
            "EmrServerlessStartJobOperator",
            {"job_driver": {"sparkSubmit": {"entryPoint": "s3://b/job.jar"}}},
            "job_driver['sparkSubmit']['entryPoint']",
        ),
        (
            "EmrServerlessStartJobOperator",
            {"job_driver": {"sparkSubmit": {"sparkSubmitParameters": "--conf a=b --class a.B"}}},
            "job_driver['sparkSubmit']['sparkSubmitParameters']",
        ),
        ("DataprocSubmitJobOperator", {"job": {"spark_job": {"main_class": "a.B"}}}, "job['spark_job']"),
        ("DataprocSubmitJobOperator", {"job": {"spark_sql_job": {"query_list": {}}}}, "job['spark_sql_job']"),
        ("DataprocCreateBatchOperator", {"batch": {"spark_batch": {"main_class": "a.B"}}}, "batch['spark_batch']"),
        ("DatabricksSubmitRunOperator", JAR, "spark_jar_task"),
        ("DatabricksSubmitRunOperator", {"json": JAR}, "json['spark_jar_task']"),
        ("DatabricksSubmitRunOperator", task(**JAR), "tasks[1]['spark_jar_task']"),
        ("DatabricksSubmitRunOperator", {"json": task(**JAR)}, "json['tasks'][1]['spark_jar_task']"),
        (
            "DatabricksSubmitRunOperator",
            task(for_each_task={"inputs": "[1]", "task": JAR}),
            "tasks[1]['for_each_task']['task']['spark_jar_task']",
        ),
        ("DatabricksSubmitRunOperator", SUBMITTED, "spark_submit_task['parameters'][0]"),
        # the manifest of the jar names the class
        (
            "DatabricksSubmitRunOperator",
            {"spark_submit_task": {"parameters": ["--conf", "a=b", "dbfs:/job.jar", "1"]}},
            "spark_submit_task['parameters']",
        ),
        ("SparkSubmitOperator", {"application": PurePath("job.jar")}, "application"),
    ],
)
def test_a_job_says_where_it_is_no_python_program(operator, fields, place):
    assert said(operator, fields) == place


@pytest.mark.parametrize(
    ("operator", "fields"),
    [
        ("SparkSubmitOperator", {"application": "job.py", "_java_class": None}),
        ("SparkSubmitOperator", {"application": "${vault:apps/job:path}"}),
        ("SparkSubmitOperator", {"application": "spark-core.jar", "_java_class": PYTHON_RUNNER}),
        ("LivyOperator", {"spark_params": {"file": "local:/job.py", "class_name": None}}),
        ("SparkKubernetesOperator", {"template_spec": {"spec": {"type": "Python"}}}),
        (
            "SparkKubernetesOperator",
            {"template_spec": {"spec": {"pyFiles": "local:///job.py", "mainClass": PYTHON_RUNNER}}},
        ),
        ("EmrServerlessStartJobOperator", {"job_driver": {"sparkSubmit": {"entryPoint": "s3://b/job.py"}}}),
        ("DataprocSubmitJobOperator", {"job": {"pyspark_job": {"main_python_file_uri": "gs://b/job.py"}}}),
        ("DataprocCreateBatchOperator", {"batch": {"pyspark_batch": {}}}),
        ("DatabricksSubmitRunOperator", task(spark_python_task={"python_file": "job.py"})),
        ("DatabricksSubmitRunOperator", {"json": "a text that somebody else reads"}),
        ("DatabricksSubmitRunOperator", {"spark_submit_task": {"parameters": ["job.py", "--classes", "x"]}}),
        ("DatabricksSubmitRunOperator", {"spark_submit_task": {"parameters": ["--conf", "a=b", "${vault:job:path}"]}}),
        ("SparkSubmitOperator", {"application": PurePath("job.py")}),
    ],
)
def test_a_python_program_is_one(operator, fields):
    assert said(operator, fields) == ""


def test_a_field_is_left_alone_if_only_one_whose_name_begins_with_its_name_has_a_value():
    held = {"env": {"a": "x"}, "env_vars": {"b": "${p:k}"}}
    fields = JobFields(OperatorSpec(), ("env", "env_vars"), held.get, {})

    assert fields.resolved({"env_vars['b']": "v"}) == {"env_vars": {"b": "v"}}


@pytest.mark.parametrize("names", [["a"], ["a", "b"]], ids=["one cluster", "several clusters"])
def test_the_fields_that_get_the_configuration_do_not_change(names):
    (spec,) = [spec for path, spec in SUPPORTED.items() if path.endswith(".DatabricksSubmitRunOperator")]
    conf = {"spark.a": "${v:k}"}
    before = {"tasks": [{"task_key": name, "new_cluster": {"spark_conf": conf}} for name in names]}
    given = {"tasks": before["tasks"]}

    found = JobFields(spec, (*before,), before.get, {}).with_configs(given, lambda _: {"spark.a": "value"}, conf)

    assert [task["new_cluster"]["spark_conf"] for task in found["tasks"]] == [{"spark.a": "value"}] * len(names)
    assert given == {"tasks": [{"task_key": name, "new_cluster": {"spark_conf": conf}} for name in names]}


@pytest.mark.parametrize(("name", "layers"), [("arrow-spark", ["conf"]), ("sales", ["conf", "arguments"])])
def test_named_arguments_are_a_layer_only_if_one_was_given(name, layers):
    """The default name of a job is none of its author."""
    spec = SUPPORTED["airflow.providers.apache.spark.operators.spark_submit.SparkSubmitOperator"]
    fields = JobFields.of_arguments(spec, {"conf": {"spark.a": "1"}, "name": name}, ())

    assert layers == [layer.name for layer in fields.layers()]
