"""Functions that get a Spark session: ours, and the stock ones of a deployment that says so."""

from __future__ import annotations

import importlib
import json
import os
import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest
from airflow.providers.apache.spark.decorators.pyspark import pyspark_task
from airflow.providers.apache.spark.operators.spark_pyspark import PySparkOperator
from airflow.sdk import task
from pyspark.sql import SparkSession

from airflow_config_providers import cluster_policy
from airflow_config_providers.core import properties
from airflow_config_providers.decorators.pyspark import configured_pyspark_task
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.get_provider_info import get_provider_info
from airflow_config_providers.spark.catalogue import OF_AUTHOR, READ_ONLY
from tests.canary import CANARY

pytestmark = pytest.mark.usefixtures("connections")


def stock(function, **kwargs):
    """Return a stock task after the deployment's policy has seen it."""
    made = pyspark_task(function, **kwargs)()
    cluster_policy.task_policy(made.operator)
    return made


def test_the_decorator_is_where_airflow_looks_for_it():
    (entry,) = get_provider_info()["task-decorators"]
    module, _, name = entry["class-name"].rpartition(".")

    assert getattr(importlib.import_module(module), name) is configured_pyspark_task
    assert entry["name"] == "configured_pyspark"
    assert task.configured_pyspark is configured_pyspark_task


def test_a_stock_task_becomes_ours(dag, monkeypatch):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__APPLY_TO", "pyspark")
    with dag:
        made = stock(lambda spark: None, task_id="job")

    assert "effective_config" in made.operator.template_fields
    assert made.operator.operator_name == "@task.pyspark"


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        pytest.param("jdbc:{reference}", {"jdbc:{canary}"}, id="the author's"),
        pytest.param("{{{{ dag_run.conf.get('y', '{reference}') }}}}", {"{canary}"}, id="the author's default"),
        pytest.param("{{{{ dag_run.conf.get('x', '{reference}') }}}}", set(), id="the run's"),
        pytest.param("{{# {reference} #}}{{{{ dag_run.conf.x }}}}", set(), id="the run's beside a comment"),
    ],
)
def test_attack_56_a_function_gets_the_values_of_its_authors_references(dag, password, argument, expected):
    text = argument.format(reference=password)
    with dag:
        made = configured_pyspark_task(lambda url, spark: None, task_id="job")(url=text)
    job = made.operator.prepare_for_execution()
    job.render_template_fields({"dag_run": SimpleNamespace(conf={"x": password}), "params": {}, "task": job})
    resolved = job._try_state.run.resolved
    texts = {label: resolved.text(label) for label in resolved.texts}
    job._try_state.run.close()

    assert set(texts.values()) == {value.format(canary=CANARY) for value in expected}


@pytest.mark.parametrize("key", OF_AUTHOR)
def test_attack_a_run_cannot_send_the_values_of_a_function_elsewhere(dag, run_task, password, monkeypatch, key):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RUN_CONFIG_ENABLED", "True")
    called = []
    with dag:
        conf = {"spark.app.x": password}
        made = configured_pyspark_task(lambda spark: called.append(1), task_id="job", config_kwargs=conf)()
    run = run_task(made.operator, conf={"spark_conf": {key: "spark://127.0.0.1:1"}})

    assert isinstance(run.error, ConfigException)
    assert run.error.problems == (f"'{key}' in dag_run.conf['spark_conf'] is read-only: {READ_ONLY[key]}",)
    assert not called


SERVER = "sc://localhost:1"
OF_SERVER = "spark.redaction.regex"


@pytest.mark.parametrize(
    ("spark", "conf"),
    [
        pytest.param({"conn_type": "spark", "host": "local"}, {"spark.remote": SERVER}, id="a key of the author"),
        pytest.param({"conn_type": "spark", "extra": {"spark.remote": SERVER}}, {}, id="the extra"),
        pytest.param({"conn_type": "spark", "host": "sc://localhost", "port": 1}, {}, id="the host"),
        pytest.param(
            {"conn_type": "spark_connect", "host": "localhost", "port": 1, "extra": {OF_SERVER: "x"}}, {}, id="its type"
        ),
    ],
)
def test_a_session_of_a_server_gets_the_values_whatever_names_the_server(
    dag, run_task, password, capfd, monkeypatch, spark, conf
):
    seen = {}
    monkeypatch.setattr(PySparkOperator, "execute_callable", lambda self: seen.update(self.config_kwargs))
    monkeypatch.setenv("AIRFLOW_CONN_SPARK", json.dumps(spark))
    with dag:
        conf = {"spark.app.x": password, **conf}
        made = configured_pyspark_task(lambda spark: None, task_id="job", conn_id="spark", config_kwargs=conf)()
    run = run_task(made.operator)

    assert run.state == "success", run.error
    assert (seen["spark.app.x"], seen["spark.remote"].rstrip("/")) == (CANARY, SERVER)
    assert OF_SERVER not in seen
    assert "writes what a session sets into its event log" in "".join(capfd.readouterr())


@pytest.mark.parametrize(
    ("spark", "defaults", "expected"),
    [
        pytest.param({"host": "local"}, "", "true", id="a local master"),
        pytest.param({"host": "spark://one"}, "", None, id="a cluster"),
        pytest.param({"host": "local"}, "spark.master spark://one:7077", "true", id="a default that has no effect"),
        pytest.param({"host": "local"}, "spark.authenticate false", "false", id="written in a layer"),
        pytest.param({"host": "local", "extra": {"spark.authenticate": "false"}}, "", None, id="set by the connection"),
    ],
)
def test_attack_27_nobody_gets_secrets_at_the_ports_of_a_session_on_this_machine(
    dag, run_task, password, own_jvm, tmp_path, monkeypatch, spark, defaults, expected
):
    filed = []

    def read_file(self):
        path = Path(shlex.split(os.environ["PYSPARK_SUBMIT_ARGS"])[1])
        filed.extend(properties.parse(path.read_text(), name="filed"))

    (tmp_path / "spark-defaults.conf").write_text(defaults)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setattr(PySparkOperator, "execute_callable", read_file)
    monkeypatch.setenv("AIRFLOW_CONN_SPARK", json.dumps({"conn_type": "spark", **spark}))
    with dag:
        conf = {"spark.app.x": password}
        made = configured_pyspark_task(lambda spark: None, task_id="job", conn_id="spark", config_kwargs=conf)()
    run = run_task(made.operator)

    assert run.state == "success", run.error
    assert {entry.key: entry.value for entry in filed}.get("spark.authenticate") == expected


@pytest.mark.slow
def test_attack_27_a_function_whose_context_other_code_has_started_is_warned_of_its_ports(
    dag, run_task, password, own_jvm, capfd
):
    started = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    with dag:
        made = configured_pyspark_task(lambda spark: None, task_id="job", config_kwargs={"spark.app.x": password})()
    run = run_task(made.operator)
    started.stop()

    assert run.state == "success", run.error
    assert "a SparkContext that other code has started" in "".join(capfd.readouterr())


@pytest.mark.slow
def test_attack_27_30_the_function_and_spark_get_values_and_nobody_else(
    dag, run_task, password, own_jvm, capfd, monkeypatch
):
    seen = {}

    def job(url, spark):
        seen["url"] = url
        seen["conf"] = spark.conf.get("spark.app.dsn")
        commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if os.access(path, os.R_OK)]
        seen["commands"] = b"\n".join(commands)
        seen["ui"] = dict(spark.sparkContext.getConf().getAll()).get("spark.redaction.regex", "")
        print("printed", url)
        spark.sparkContext._jvm.java.lang.System.err.println(f"java has {url}")
        return {"url": url, "rows": spark.range(3).count()}

    conf = {"spark.app.dsn": password, "spark.ui.enabled": "false", "spark.master": "local[1]"}
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__APPLY_TO", "spark")
    with dag:
        made = pyspark_task(job, config_kwargs=conf)(f"jdbc:x?password={password}")
    cluster_policy.task_policy(made.operator)
    run = run_task(made.operator)

    assert run.state == "success", run.error
    assert seen["url"] == f"jdbc:x?password={CANARY}"
    assert seen["conf"] == CANARY
    assert b"java" in seen["commands"]
    assert CANARY.encode() not in seen["commands"]
    assert "dsn" in seen["ui"]
    (pushed,) = run.supervisor.sent("SetXCom")
    assert pushed.value == {"url": f"jdbc:x?password={password}", "rows": 3}
    told = "".join(repr(m) for m in run.supervisor.messages if type(m).__name__ != "MaskSecret")
    output = "".join(capfd.readouterr())
    assert f"java has jdbc:x?password={password}" in output
    assert CANARY not in told + output + repr(vars(run.task))
    assert CANARY not in repr(dict(os.environ))


@pytest.mark.parametrize(
    ("spark", "conf", "is_warned"),
    [
        pytest.param({"host": "yarn"}, {}, True, id="the connection"),
        pytest.param(
            {"host": "local", "extra": {"spark.master": "yarn"}}, {}, True, id="its extra", marks=pytest.mark.slow
        ),
        pytest.param({"host": "local"}, {"spark.master": "yarn"}, True, id="the configuration", marks=pytest.mark.slow),
        pytest.param({"host": "yarn"}, {"spark.remote": ""}, True, id="the connection, and no server"),
        pytest.param({"host": "yarn"}, {"spark.master": "nothing"}, False, id="another master"),
    ],
)
def test_values_that_yarn_writes_down_are_warned_of(
    dag, run_task, password, own_jvm, capfd, monkeypatch, spark, conf, is_warned
):
    monkeypatch.setenv("AIRFLOW_CONN_SPARK", json.dumps({"conn_type": "spark", **spark}))
    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    with dag:
        made = configured_pyspark_task(
            lambda spark: None, task_id="job", conn_id="spark", config_kwargs={"spark.app.x": password, **conf}
        )()
    run = run_task(made.operator)

    assert run.error is not None  # there is no YARN
    assert ("onto nodes in client mode" in "".join(capfd.readouterr())) is is_warned
