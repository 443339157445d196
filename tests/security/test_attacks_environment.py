"""Values that came by ``${env:...}``, in the environment of everything that a task starts."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from airflow.providers.apache.spark.decorators.pyspark import pyspark_task
from airflow.providers.apache.spark.operators.spark_jdbc import SparkJDBCOperator
from airflow.providers.apache.spark.operators.spark_sql import SparkSqlOperator

from airflow_config_providers import cluster_policy
from airflow_config_providers.operators.configure import configured
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from tests.canary import CANARY
from tests.operators.conftest import recording
from tests.operators.stock import NOT_DURABLE

OTHER = "c4nary/0ther+value"
REFERENCE = "${env:JOB_APP_PASSWORD}"


@pytest.fixture(autouse=True)
def environment(monkeypatch, tmp_path):
    """A worker with two secrets in its environment, and a provider that may read them and much more."""
    extra = {
        "config.providers": "env",
        "config.providers.env.class": "env",
        "config.providers.env.param.allowlist.pattern": "JOB_APP_.*|PATH|HOME|JAVA_HOME|SPARK_CONF_DIR",
    }
    defined = json.dumps({"conn_type": "config_providers", "extra": extra})
    monkeypatch.setenv("AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT", defined)
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": "local[1]"}))
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_SQL_DEFAULT", json.dumps({"conn_type": "spark_sql", "host": "local[1]"}))
    monkeypatch.setenv("AIRFLOW_CONN_DB", "postgresql://ada:w0rd-of-the-database@db/flights")
    monkeypatch.setenv("JOB_APP_PASSWORD", CANARY)
    monkeypatch.setenv("JOB_APP_OTHER", OTHER)
    monkeypatch.setenv("JOB_MODE", "test")


@pytest.fixture
def spark(tmp_path, monkeypatch):
    """Put a program on PATH that records how it was called, and with what environment."""
    monkeypatch.delenv("SPARK_HOME", raising=False)

    def record(name):
        (tmp_path / name).mkdir()
        return recording(name, tmp_path / name, monkeypatch)

    return record


def submit(dag, **kwargs):
    conf = kwargs.pop("conf", {"spark.app.password": REFERENCE})
    return ConfiguredSparkSubmitOperator(
        task_id="job", application="job.py", dag=dag, conf=conf, **NOT_DURABLE, **kwargs
    )


OPERATORS = [
    pytest.param("spark-submit", submit, id="SparkSubmitOperator"),
    pytest.param(
        "spark-submit",
        lambda dag: configured(SparkJDBCOperator)(
            task_id="job",
            dag=dag,
            jdbc_conn_id="db",
            jdbc_table="t",
            metastore_table="t",
            jdbc_driver="org.postgresql.Driver",
            cmd_type="jdbc_to_spark",
            spark_conf={"spark.app.password": REFERENCE},
        ),
        id="SparkJDBCOperator",
    ),
    pytest.param(
        "spark-sql",
        lambda dag: configured(SparkSqlOperator)(
            task_id="job", dag=dag, sql="select 1", conf={"spark.app.password": REFERENCE}
        ),
        id="SparkSqlOperator",
    ),
]


@pytest.mark.parametrize(("program", "make"), OPERATORS)
def test_attack_67_what_a_provider_may_read_is_not_in_the_environment_of_a_child(dag, run_task, spark, program, make):
    record = spark(program)
    run = run_task(make(dag))

    assert run.state == "success", run.error
    assert "password" in record.only.properties
    assert CANARY not in repr(record.only.environ)
    assert OTHER not in repr(record.only.environ)
    assert record.only.environ["JOB_MODE"] == "test"
    assert {"PATH", "HOME", "SPARK_CONF_DIR"} <= set(record.only.environ)
    assert os.environ["JOB_APP_OTHER"] == OTHER


def test_attack_67_what_a_provider_may_read_is_withheld_from_a_job_that_refers_to_another(
    dag, run_task, spark, monkeypatch, tmp_path
):
    (tmp_path / "password").write_text("of a file")
    connection = json.loads(os.environ["AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT"])
    connection["extra"] |= {
        "config.providers": "env, dir",
        "config.providers.dir.class": "directory",
        "config.providers.dir.param.allowed.paths": str(tmp_path),
    }
    monkeypatch.setenv("AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT", json.dumps(connection))
    record = spark("spark-submit")
    run = run_task(submit(dag, conf={"spark.app.password": f"${{dir:{tmp_path}:password}}"}))

    assert run.state == "success", run.error
    assert CANARY not in repr(record.only.environ)
    assert OTHER not in repr(record.only.environ)
    assert record.only.environ["JOB_MODE"] == "test"


def test_what_the_author_passes_arrives(dag, run_task, spark):
    record = spark("spark-submit")
    run_task(submit(dag, env_vars={"JOB_APP_PASSWORD": REFERENCE, "JOB_APP_OTHER": "of the author"}))

    assert record.only.environ["JOB_APP_PASSWORD"] == CANARY
    assert record.only.environ["JOB_APP_OTHER"] == "of the author"


def test_a_job_without_such_a_reference_inherits_as_before(dag, run_task, spark):
    record = spark("spark-submit")
    run_task(submit(dag, conf={"spark.app.x": "1"}))

    assert record.only.environ["JOB_APP_OTHER"] == OTHER


def test_attack_67_commands_after_the_job_do_not_inherit_it_either(dag, run_task, spark, tmp_path):
    spark("spark-submit")
    run_task(submit(dag, post_submit_commands=[f"sh -c 'env > {tmp_path}/after'"]))

    after = (tmp_path / "after").read_text()
    assert "JOB_MODE=test" in after
    assert CANARY not in after
    assert OTHER not in after


def started_on_a_cluster(dag, run_task, spark, monkeypatch, master):
    """Run a job in cluster mode; spark-submit prints what Airflow's hooks look for in its output."""
    connection = {"conn_type": "spark", "host": master, "extra": {"deploy-mode": "cluster"}}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))
    monkeypatch.setenv("HADOOP_CONF_DIR", "/nowhere")
    prints = ("driver-20260101000000-0001", '"submissionId" : "x",', '"driverState" : "FINISHED",', "application_1_1")
    monkeypatch.setenv("FAKE_SPARK_PRINTS", "|".join(prints))
    record = spark("spark-submit")
    run = run_task(submit(dag, status_poll_interval=0))
    assert run.state == "success", run.error
    return run.task, record


def test_attack_67_neither_do_commands_that_ask_for_a_driver_and_kill_it(dag, run_task, spark, monkeypatch):
    task, record = started_on_a_cluster(dag, run_task, spark, monkeypatch, "spark://one:7077,two:7077")
    task.on_kill()

    assert [run.arguments[-2] for run in record()[1:]] == ["--status", "--kill"]
    assert all(run.environ["JOB_MODE"] == "test" for run in record())
    assert CANARY not in repr([run.environ for run in record()])
    assert OTHER not in repr([run.environ for run in record()])
    assert os.environ["JOB_APP_OTHER"] == OTHER


def test_attack_67_neither_does_a_command_that_kills_a_job_on_yarn(dag, run_task, spark, monkeypatch):
    task, _ = started_on_a_cluster(dag, run_task, spark, monkeypatch, "yarn")
    record = spark("yarn")
    with subprocess.Popen(["sleep", "60"]) as still_running:
        task._hook._submit_sp = still_running
        task._hook.on_kill()

    assert record.only.arguments == ["application", "-kill", "application_1_1"]
    assert record.only.environ["JOB_MODE"] == "test"
    assert CANARY not in repr(record.only.environ)
    assert OTHER not in repr(record.only.environ)


@pytest.mark.slow
def test_attack_67_the_jvm_and_the_workers_of_a_function_do_not_inherit_it(dag, run_task, own_jvm, monkeypatch):
    seen = {}

    def job(spark):
        seen["own"] = os.environ["JOB_APP_PASSWORD"]
        seen["conf"] = spark.conf.get("spark.app.password")
        seen["java"] = spark.sparkContext._jvm.java.lang.System.getenv().toString()
        seen["worker"] = spark.sparkContext.parallelize([0], 1).map(lambda _: dict(os.environ)).collect()

    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__APPLY_TO", "spark")
    with dag:
        made = pyspark_task(job, config_kwargs={"spark.app.password": REFERENCE, "spark.master": "local[1]"})()
    cluster_policy.task_policy(made.operator)
    run = run_task(made.operator)

    assert run.state == "success", run.error
    assert (seen["own"], seen["conf"]) == (CANARY, CANARY)
    assert "JOB_MODE" in seen["java"]
    for inherited in (seen["java"], repr(seen["worker"])):
        assert CANARY not in inherited
        assert OTHER not in inherited
