"""The private names of Airflow's Spark provider that we lean on. A version that changes one must break here."""

from __future__ import annotations

import ast
import inspect
import json
from pathlib import Path

import pytest
from airflow.providers.apache.spark.hooks import spark_jdbc_script
from airflow.providers.apache.spark.hooks.spark_jdbc import SparkJDBCHook
from airflow.providers.apache.spark.hooks.spark_submit import DEFAULT_SPARK_BINARY, SparkSubmitHook
from airflow.providers.apache.spark.operators.spark_jdbc import SparkJDBCOperator
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

from airflow_config_providers.job.fields import JobFields
from airflow_config_providers.job.operator_specs import spec_of
from airflow_config_providers.spark import named_arguments
from airflow_config_providers.spark.applications import jdbc
from tests.operators.stock import NOT_DURABLE


@pytest.fixture
def stock(monkeypatch):
    """A stock operator with every named argument that we turn into configuration."""
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": "local[1]"}))
    given = {
        name: 7 if name.endswith(("cores", "executors")) else f"the-{name}" for name in named_arguments.SUBMIT.keys
    }
    return SparkSubmitOperator(task_id="t", conf={"spark.x": "1"}, **given), given


def test_the_operator_keeps_each_named_argument_where_we_look(stock):
    operator, given = stock

    fields = JobFields.of_operator(operator, spec_of(SparkSubmitOperator))

    assert {name: fields.argument(name) for name in fields.named} == given


def test_the_hook_keeps_each_named_argument_where_we_empty_it(stock):
    operator, given = stock
    hook = operator._get_hook()

    assert {name: getattr(hook, f"_{name}") for name in named_arguments.SUBMIT.keys} == given


def test_the_hook_mixes_three_of_them_with_its_connection(stock):
    operator, given = stock
    connection = operator._get_hook()._connection

    assert {name: connection[part] for name, part in named_arguments.FROM_CONNECTION.items()} == {
        name: given[name] for name in named_arguments.FROM_CONNECTION
    }


def test_an_emptied_hook_leaves_the_named_arguments_out_of_the_command(stock):
    operator, _ = stock
    hook = operator._get_hook()
    for name in named_arguments.SUBMIT.keys:
        setattr(hook, f"_{name}", None)
    for part in named_arguments.FROM_CONNECTION.values():
        hook._connection[part] = None

    assert hook._build_spark_common_args() == ["--master", "local[1]", "--conf", "spark.x=1"]


def test_the_name_of_a_job_without_a_name_is_the_one_we_know():
    assert (
        inspect.signature(SparkSubmitOperator.__init__).parameters["name"].default
        == named_arguments.SUBMIT.default_name
    )


@pytest.mark.parametrize("name", named_arguments.IN_COMMAND)
def test_exposed_fields_are_fields_of_the_operator(name):
    assert name in SparkSubmitOperator.template_fields


@pytest.mark.parametrize("name", ["application_args", "proxy_user", "post_submit_commands"])
def test_the_hook_keeps_exposed_fields_where_we_put_their_values(name, stock):
    operator, _ = stock
    value = ["x"] if name.endswith("s") else "x"
    setattr(operator, name, value)

    assert getattr(operator._get_hook(), f"_{name}") == value


def test_every_template_field_is_one_that_we_have_thought_of():
    thought_of = {*named_arguments.SUBMIT.keys, *named_arguments.IN_COMMAND, "conf", "env_vars", "properties_file"}

    assert set(SparkSubmitOperator.template_fields) <= thought_of


def test_the_hook_builds_the_command_from_its_configuration_and_properties_file(stock):
    operator, _ = stock
    hook = operator._get_hook()
    hook._conf, hook._properties_file = {"spark.y": "2"}, "/dev/fd/3"
    command = hook._build_spark_submit_command("job.py")

    assert "spark.y=2" in command
    assert command[command.index("--properties-file") + 1] == "/dev/fd/3"
    assert "spark.x=1" not in command


def test_the_hook_has_what_we_override_and_read(stock):
    operator, _ = stock
    hook = operator._get_hook()

    assert hook._connection["spark_binary"] == DEFAULT_SPARK_BINARY
    assert (hook._is_yarn, hook._is_kubernetes, hook._env, hook._env_vars) == (False, False, None, None)
    assert list(inspect.signature(SparkSubmitHook._mask_cmd).parameters) == ["self", "connection_cmd"]
    assert list(inspect.signature(SparkSubmitHook._process_spark_submit_log).parameters) == ["self", "itr"]
    assert list(inspect.signature(SparkSubmitHook.submit).parameters) == ["self", "application", "kwargs"]


def test_the_hook_gives_further_arguments_to_the_process_it_starts():
    source = inspect.getsource(SparkSubmitHook.submit)

    assert "subprocess.Popen(" in source
    assert "**kwargs," in source


def test_the_hook_reads_what_the_process_writes_in_one_place():
    source = inspect.getsource(SparkSubmitHook.submit)

    assert "spark_submit_cmd = self._build_spark_submit_command(application)" in source
    assert "self._submit_sp = subprocess.Popen(" in source
    assert "self._process_spark_submit_log(iter(self._submit_sp.stdout))" in source


def test_what_the_hook_logs_of_the_command_goes_through_the_mask():
    assert "self._mask_cmd(connection_cmd)" in inspect.getsource(SparkSubmitHook._build_spark_submit_command)
    assert "self._mask_cmd(spark_submit_cmd)" in inspect.getsource(SparkSubmitHook.submit)


def test_the_operator_makes_its_hook_late_and_in_one_place():
    assert "self._hook = self._get_hook()" in inspect.getsource(SparkSubmitOperator.execute)


@pytest.mark.skipif(not NOT_DURABLE, reason="this Spark provider submits a job with each try")
def test_the_operator_follows_a_job_where_we_look_for_one():
    source = inspect.getsource(SparkSubmitOperator.execute)

    assert "if hook._should_track_driver_status:\n            return self.execute_resumable(context)" in source
    assert "if hook._should_track_driver_via_k8s_api():\n            return self.execute_resumable(context)" in source
    assert "if hook._is_yarn_cluster_mode:" in source
    assert "if hook._yarn_track_via_rm_api:" in source
    assert source.count("self.execute_resumable(context)") == 3


def test_the_operator_stores_the_id_of_a_job_between_submitting_and_polling_it():
    resumable = pytest.importorskip("airflow.sdk.bases.resumablejobmixin").ResumableJobMixin
    source = inspect.getsource(resumable.execute_resumable)

    assert source.count("task_state_store.get(self.external_id_key)") == 1
    assert source.count("self.get_job_status(external_id, context)") == 1
    submits, polls = source.rindex("self.submit_job(context)"), source.rindex("self.poll_until_complete(")
    assert submits < source.index("task_state_store.set(self.external_id_key") < polls


@pytest.fixture
def stock_jdbc(monkeypatch):
    """A stock JDBC operator and its hook."""
    fields = {"host": "h", "port": 1, "schema": "s", "login": "ada", "password": "x", "extra": {"conn_prefix": "p:"}}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": "local[1]"}))
    monkeypatch.setenv("AIRFLOW_CONN_DB", json.dumps({"conn_type": "jdbc", **fields}))
    operator = SparkJDBCOperator(task_id="t", spark_conn_id="spark_default", jdbc_conn_id="db", jdbc_table="t")
    return operator._get_hook()


def test_the_jdbc_hook_gives_arguments_in_pairs(stock_jdbc):
    words = stock_jdbc._build_jdbc_application_arguments(stock_jdbc._jdbc_connection)

    assert dict(zip(words[::2], words[1::2], strict=True)) == {
        "-cmdType": "spark_to_jdbc",
        "-url": "p:h:1/s",
        "-user": "ada",
        "-password": "x",
        "-jdbcTable": "t",
    }


def test_the_jdbc_hook_keeps_its_connection_where_we_empty_it(stock_jdbc):
    assert stock_jdbc._resolve_jdbc_connection() == stock_jdbc._jdbc_connection
    assert stock_jdbc._jdbc_conn_id == "db"
    assert list(inspect.signature(SparkJDBCHook._build_jdbc_application_arguments).parameters) == ["self", "jdbc_conn"]


def test_the_jdbc_operator_submits_by_its_hook_and_the_hook_by_submit():
    assert "self._hook = self._get_hook()" in inspect.getsource(SparkJDBCOperator.execute)
    assert "self._hook.submit_jdbc_job()" in inspect.getsource(SparkJDBCOperator.execute)
    source = inspect.getsource(SparkJDBCHook.submit_jdbc_job)

    assert "self._application_args = self._build_jdbc_application_arguments(self._jdbc_connection)" in source
    assert "self.submit(application=" in source
    assert f"{jdbc.STOCK}.py" in source


def test_the_jdbc_script_can_be_called_by_a_script_of_ours():
    found = spark_jdbc_script._parse_arguments([])

    assert {*jdbc.KEYS, "name"} <= vars(found).keys()
    assert set(vars(found).values()) == {None}
    for name in ("_create_spark_session", "_run_spark"):
        assert list(inspect.signature(getattr(spark_jdbc_script, name)).parameters) == ["arguments"]
    assert "_create_spark_session(arguments)" in inspect.getsource(spark_jdbc_script._run_spark)


def test_the_jdbc_script_does_as_it_finds_in_a_session_with_hive():
    source = inspect.getsource(spark_jdbc_script._create_spark_session)

    assert "SparkSession.builder.appName(arguments.name).enableHiveSupport().getOrCreate()" in source


def test_the_jdbc_script_needs_pyspark_alone():
    """But to say in Airflow's words that PySpark is missing."""
    tree = ast.parse(Path(spark_jdbc_script.__file__).read_text())
    (guarded,) = (node for node in tree.body if isinstance(node, ast.Try))
    modules = [node.module for node in [*tree.body, *guarded.body] if isinstance(node, ast.ImportFrom)]
    modules += [name.name for node in tree.body if isinstance(node, ast.Import) for name in node.names]

    assert sorted(modules) == ["__future__", "argparse", "pyspark.sql", "typing"]


def test_the_status_of_a_driver_is_asked_for_with_the_command_that_we_change():
    source = inspect.getsource(SparkSubmitHook._start_driver_status_tracking)

    assert source.count("self._build_track_driver_status_command()") == source.count("subprocess.Popen(") == 1
