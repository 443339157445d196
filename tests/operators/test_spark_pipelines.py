"""``SparkPipelinesOperator`` with references: what its command, its environment and its file hold."""

from __future__ import annotations

import inspect
import json
import os
import re
import sys

import pytest

from airflow_config_providers import cluster_policy
from airflow_config_providers.exceptions import ExposedValueError
from airflow_config_providers.operators.configure import configured
from tests.operators.conftest import CANARY, recording
from tests.servers.spark_cluster import Watcher

stock = pytest.importorskip(
    "airflow.providers.apache.spark.operators.spark_pipelines", reason="Spark provider before 6"
)

hooks = pytest.importorskip("airflow.providers.apache.spark.hooks.spark_pipelines")

pytestmark = pytest.mark.usefixtures("connections")

TOKEN = "t0ken/of+the=server"


@pytest.fixture
def spark_pipelines(tmp_path, monkeypatch):
    """A program on PATH that records how it was called."""
    monkeypatch.delenv("SPARK_HOME", raising=False)
    return recording("spark-pipelines", tmp_path, monkeypatch)


def job(dag, **kwargs):
    return configured(stock.SparkPipelinesOperator)(task_id="job", dag=dag, pipeline_spec="flights.yml", **kwargs)


def test_attack_30_values_go_by_a_file_and_stand_nowhere_else(dag, no_leak, password, spark_pipelines):
    conf = {"spark.app.password": password, "spark.app.open": "yes"}
    run = no_leak(job(dag, conf=conf, executor_memory="3g"))

    assert run.state == "success", run.error
    seen = spark_pipelines.only
    assert seen.arguments[:3] == ["run", "--spec", "flights.yml"]
    assert CANARY not in json.dumps([seen.arguments, seen.environ])
    assert spark_pipelines.spark_conf.items() >= {**conf, "spark.app.password": CANARY}.items()
    assert spark_pipelines.spark_conf["spark.executor.memory"] == "3g"
    assert "--executor-memory" not in seen.arguments
    assert f"spark.app.password = {password}   # DAG_CONFIG, conf" in run.rendered["effective_config"]


def test_attack_19_what_the_pipeline_prints_and_how_it_fails_is_shown_with_references(
    dag, no_leak, password, spark_pipelines, monkeypatch
):
    monkeypatch.setenv("FAKE_SPARK_PRINTS", f"the password is {CANARY}|and more")
    monkeypatch.setenv("FAKE_SPARK_EXIT", "3")
    run = no_leak(job(dag, conf={"spark.app.password": password}))

    assert run.state == "failed"
    assert "Error code is: 3" in str(run.error)
    assert f"the password is {password}" in run.shown


def test_layers_beside_the_operator_count(dag, run_task, spark_pipelines, tmp_path):
    (tmp_path / "all.properties").write_text("spark.a=file\nspark.b=file\n")
    run = run_task(job(dag, conf={"spark.a": "dag"}, config_files=[str(tmp_path / "all.properties")]))

    assert run.state == "success", run.error
    assert spark_pipelines.spark_conf.items() >= {"spark.a": "dag", "spark.b": "file"}.items()


def test_attack_30_on_yarn_the_environment_of_the_driver_goes_by_the_file(
    dag, no_leak, password, spark_pipelines, monkeypatch
):
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": "yarn"}))
    variables = {"APP_PASSWORD": password, "OPEN": "yes"}
    run = no_leak(job(dag, env_vars=variables, allow_exposed_arguments=True))

    assert run.state == "success", run.error
    assert spark_pipelines.spark_conf["spark.yarn.appMasterEnv.APP_PASSWORD"] == CANARY
    assert CANARY not in json.dumps(spark_pipelines.only.arguments)
    assert spark_pipelines.only.environ["OPEN"] == "yes"


def test_a_reference_in_the_command_is_refused(dag, run_task, password, spark_pipelines):
    run = run_task(job(dag, principal=password))

    assert isinstance(run.error, ExposedValueError)
    assert "principal: the values of its references would be readable by others" in str(run.error)
    assert spark_pipelines() == []


def test_the_driver_of_a_pipeline_is_left_no_reference(
    dag, run_task, password, spark_pipelines, connections, monkeypatch
):
    extra = {**connections, "driver.config.providers": "dir", "driver.config.providers.dir.class": "directory"}
    connection = {"conn_type": "config_providers", "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT", json.dumps(connection))

    run = run_task(job(dag, conf={"spark.app.password": password}, resolve_in="driver"))

    assert "only a Python driver can resolve references" in str(run.error)
    assert spark_pipelines() == []


AUTHOR = "sc://author:1"


@pytest.mark.skipif("spark_remote" not in inspect.getsource(hooks), reason="a later Spark provider connects")
@pytest.mark.parametrize(
    ("variables", "conf", "expected", "is_warned"),
    [
        pytest.param({}, {}, (None, "sc://connection:2/"), False, id="the connection"),
        pytest.param({"SPARK_REMOTE": AUTHOR}, {}, (AUTHOR, None), False, id="the variable"),
        pytest.param({}, {"spark.remote": "sc://key:3"}, (None, "sc://connection:2/"), True, id="a key"),
        pytest.param(
            {"SPARK_REMOTE": AUTHOR},
            {"spark.remote": "sc://key:3"},
            (AUTHOR, None),
            True,
            id="a key beside it",
        ),
    ],
)
def test_a_variable_of_the_author_or_else_the_connection_names_the_server(
    dag, no_leak, password, spark_pipelines, tmp_path, monkeypatch, variables, conf, expected, is_warned
):
    fields = {"conn_type": "spark_connect", "host": "connection", "port": 2}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(fields))
    python = tmp_path / "python"  # it is called with -P, -m, the module and the file
    python.write_text('#!/bin/sh\nexec spark-pipelines --properties-file "$4"\n')
    python.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(python))
    run = no_leak(job(dag, conf={"spark.app.password": password, **conf}, env_vars=variables))

    assert run.state == "success", run.error
    found = spark_pipelines.spark_conf
    assert (spark_pipelines.only.environ.get("SPARK_REMOTE"), found.get("spark.remote")) == expected
    assert found["spark.app.password"] == CANARY
    assert ("spark.remote of the configuration has no effect" in run.shown) is is_warned


@pytest.mark.parametrize("setting", ["spark", "spark_pipelines"])
def test_a_stock_operator_becomes_ours(dag, no_leak, password, spark_pipelines, monkeypatch, setting):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__APPLY_TO", setting)
    task = stock.SparkPipelinesOperator(
        task_id="job", dag=dag, pipeline_spec="flights.yml", conf={"spark.app.password": password}
    )
    cluster_policy.task_policy(task)
    run = no_leak(task)

    assert run.state == "success", run.error
    assert spark_pipelines.spark_conf["spark.app.password"] == CANARY


@pytest.mark.skipif("spark_remote" not in inspect.getsource(hooks), reason="a later Spark provider connects")
def test_a_pipeline_on_spark_connect_runs_no_module_of_the_working_directory(dag, run_task, tmp_path, monkeypatch):
    fields = {"conn_type": "spark_connect", "host": "connection", "port": 2}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(fields))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyspark.py").write_text("open('ran', 'w').close()")

    run = run_task(job(dag, env_vars={"SPARK_REMOTE": "no address"}))

    assert "Error code is: 1" in str(run.error)
    assert not (tmp_path / "ran").exists()


PIPELINE = """name: flights
storage: file://{folder}/storage
libraries:
  - glob:
      include: transformations/**
"""
TRANSFORMATION = """
from pyspark import pipelines as dp
from pyspark.sql import SparkSession

spark = SparkSession.active()
print("the pipeline got", spark.conf.get("spark.app.db.password"))
print("options are hidden by", spark.conf.get("spark.sql.redaction.options.regex"))


@dp.materialized_view
def numbers():
    return spark.range(3)
"""


@pytest.mark.slow
def test_attack_27_30_a_pipeline_on_spark_connect_gets_values_and_nobody_sees_the_address(
    dag, no_leak, password, secrets_dir, tmp_path, monkeypatch
):
    from tests.servers.spark_connect import spark_connect_server

    pytest.importorskip("pyspark.pipelines", reason="Spark before 4.1")
    (tmp_path / "transformations").mkdir()
    (tmp_path / "transformations" / "numbers.py").write_text(TRANSFORMATION)
    (tmp_path / "pipeline.yml").write_text(PIPELINE.format(folder=tmp_path))
    (secrets_dir / "token").write_text(TOKEN)
    (tmp_path / "server").mkdir()
    watcher = Watcher([os.getpid()])
    try:
        with spark_connect_server(tmp_path / "server", token=TOKEN) as server:
            fields = {"host": "localhost", "port": server.port, "password": f"${{dir:{secrets_dir}:token}}"}
            monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark_connect", **fields}))
            task = configured(stock.SparkPipelinesOperator)(
                task_id="job",
                dag=dag,
                pipeline_spec=str(tmp_path / "pipeline.yml"),
                pipeline_command="dry-run",
                conf={"spark.app.db.password": password},
            )
            run = no_leak(task)
    finally:
        watcher.close()

    assert run.state == "success", run.error
    assert f"the pipeline got {password}" in run.shown
    assert "options are hidden by (?i)special" in run.shown
    assert "writes what a session sets into its event log" in run.shown
    started = "".join(part for part in watcher.text().splitlines() if "applications.pipelines" in part)
    assert started
    assert not re.search(re.escape(CANARY), watcher.text())
    assert TOKEN not in run.shown
    assert not [line for line in watcher.text().splitlines() if "SPARK_REMOTE" in line]


@pytest.fixture
def ask(monkeypatch, tmp_path):
    """Have policies asked, and jobs run on YARN."""

    def write(key):
        (tmp_path / "policies.yaml").write_text(
            f"policies:\n- name: few\n  class: forbidden_keys\n  params: {{keys: {key}}}\n"
        )
        monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__POLICIES_FILE", str(tmp_path / "policies.yaml"))
        monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": "yarn"}))

    return write


def test_policies_see_environment_variables_that_are_keys_on_yarn(dag, run_task, spark_pipelines, ask):
    ask("spark.yarn.appMasterEnv.A")
    run = run_task(job(dag, env_vars={"A": "1"}))

    assert "'spark.yarn.appMasterEnv.A' may not be set" in str(run.error)
    assert not spark_pipelines()


def test_a_job_gets_its_layers_also_after_policies_asked_where_it_runs(dag, run_task, spark_pipelines, ask, tmp_path):
    ask("spark.kubernetes.driverEnv.A")
    (tmp_path / "all.properties").write_text("spark.a=file\n")
    run = run_task(job(dag, env_vars={"A": "1"}, config_files=str(tmp_path / "all.properties")))

    assert run.state == "success", run.error
    assert spark_pipelines.spark_conf["spark.a"] == "file"


def test_a_reference_that_data_brings_into_the_environment_stays_a_text(dag, run_task, spark_pipelines, secrets_dir):
    (secrets_dir / "p").write_text("c4nary")
    reference = f"${{dir:{secrets_dir}:p}}"
    run = run_task(job(dag, env_vars={"A": "{{ dag_run.conf.x }}"}), conf={"x": reference})

    assert run.state == "success", run.error
    assert spark_pipelines.only.environ["A"] == reference


def test_a_pipeline_whose_task_is_killed_while_its_hook_is_created_is_not_run(dag, run_task, spark_pipelines):
    class Killed(configured(stock.SparkPipelinesOperator)):
        @property
        def config_conn_id(self):
            if self._try_state.held_texts is not None and not self._try_state.is_killed:
                self.on_kill()
            return super().config_conn_id

    run = run_task(Killed(task_id="job", dag=dag, pipeline_spec="flights.yml"))

    assert "killed before its job began" in str(run.error)
    assert spark_pipelines() == []
