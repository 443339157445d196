"""Spark jobs on a real YARN: what they get, where their values can be read, and how they end."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path

import pyspark
import pytest
from airflow.sdk import DAG

from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from airflow_config_providers.spark.bundle import write_bundle
from tests.limits import LONGEST, eventually
from tests.operators.conftest import CANARY
from tests.servers.spark_cluster import write_defaults
from tests.servers.yarn import yarn

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.usefixtures("connections")]

JOB = """
import json, os, pathlib, sys, time

if "resolve" in sys.argv:
    from airflow_config_providers.spark import session
else:
    from pyspark.sql import SparkSession
    session = SparkSession.builder.getOrCreate
spark = session()
password = spark.sparkContext.getConf().get("spark.app.password")
found = {"password": password}
if "APP_TOKEN" in os.environ:
    found["token"] = os.environ["APP_TOKEN"]
if "executor" in sys.argv:
    found["executor"] = spark.sparkContext.parallelize([0], 1).map(lambda _: os.environ.get("APP_TOKEN")).first()
if "print" in sys.argv:
    print("the password is", password, flush=True)
out = pathlib.Path(sys.argv[1])
out.with_suffix(".new").write_text(json.dumps(found))
out.with_suffix(".new").rename(out)
while "endless" in sys.argv:
    time.sleep(1)
spark.stop()
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with yarn(tmp_path_factory.mktemp("yarn")) as cluster:
        yield cluster


@pytest.fixture
def on_yarn(cluster, tmp_path, monkeypatch):
    """Make the default connection lead to YARN: ``on_yarn("cluster")``."""
    defaults = {**cluster.defaults, "spark.pyspark.python": sys.executable}
    monkeypatch.setenv("SPARK_CONF_DIR", str(write_defaults(tmp_path / "spark-conf", defaults)))
    monkeypatch.setenv("HADOOP_CONF_DIR", str(cluster.conf))
    monkeypatch.setenv("SPARK_HOME", str(Path(pyspark.__file__).parent))
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setenv("PATH", f"{cluster.bin}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "job.py").write_text(JOB)

    def lead(mode):
        extra = {"deploy-mode": mode, "yarn_resourcemanager_webapp_address": cluster.page}
        monkeypatch.setenv(
            "AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": "yarn", "extra": extra})
        )

    return lead


@pytest.fixture
def providers_of_the_driver(connections, secrets_dir, monkeypatch):
    """Let drivers resolve references to the folder of secrets, too."""
    of_driver = {
        "driver.config.providers": "dir",
        "driver.config.providers.dir.class": "directory",
        "driver.config.providers.dir.param.allowed.paths": str(secrets_dir),
    }
    connection = {"conn_type": "config_providers", "extra": {**connections, **of_driver}}
    monkeypatch.setenv("AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT", json.dumps(connection))


@pytest.fixture
def secret(secrets_dir):
    """Write a secret, and return the reference to it: ``secret("name", value)``."""

    def write(name, value):
        (secrets_dir / name).write_text(value)
        return f"${{dir:{secrets_dir}:{name}}}"

    return write


@pytest.fixture
def job(tmp_path, dag):
    """Return an operator: ``job("executor", conf={...}, ...)``."""

    def make(*words, kind=ConfiguredSparkSubmitOperator, conf=None, **given):
        return kind(
            task_id="job",
            dag=given.pop("dag", dag),
            application=str(tmp_path / "job.py"),
            application_args=[str(tmp_path / "found.json"), *words],
            conf={"spark.app.password": "none", **(conf or {})},
            **given,
        )

    return make


@pytest.fixture
def found(tmp_path):
    """Return what the job found."""
    return lambda: json.loads((tmp_path / "found.json").read_text())


def places(cluster, value):
    """Return where a value can be read, as the kind of place and the name of the file there."""
    seen = {"arguments": [cluster.arguments()], "environments": [cluster.environments()]}
    for name, text in (*cluster.files().items(), *cluster.pages().items()):
        seen.setdefault(f"{name.partition('/')[0].rstrip(':')}: {name.rpartition('/')[2]}", []).append(text)
    return {place for place, texts in seen.items() if any(value in text for text in texts)}


IN_CONFIGURATION = {"staging: __spark_conf__.properties", "local: __spark_conf__.properties"}
IN_ENVIRONMENT = {
    "local: launch_container.sh",
    "log: launch_container.sh",
    "http: launch_container.sh",
    "environments",
}
"""YARN copies the script that starts a container into the container's folder of logs."""


def test_in_cluster_mode_a_job_has_values_and_yarn_keeps_them(cluster, on_yarn, job, secret, no_leak, found):
    on_yarn("cluster")
    values = {name: f"{CANARY}-{name}-in-cluster" for name in ("password", "token", "executor")}
    references = {name: secret(name, value) for name, value in values.items()}
    run = no_leak(
        job(
            "executor",
            conf={"spark.app.password": references["password"], "spark.executorEnv.APP_TOKEN": references["executor"]},
            env_vars={"APP_TOKEN": references["token"]},
            allow_exposed_arguments=True,
            yarn_track_via_rm_api=True,
        ),
        state={},
    )

    assert run.state == "success", run.error
    assert found() == values
    assert f"spark.app.password = {references['password']}" in str(run.rendered["effective_config"])
    assert "In cluster mode, Spark copies its configuration to the cluster" in run.shown
    assert places(cluster, values["password"]) == IN_CONFIGURATION
    assert places(cluster, values["token"]) == IN_CONFIGURATION | IN_ENVIRONMENT
    assert places(cluster, values["executor"]) == IN_CONFIGURATION | IN_ENVIRONMENT


def test_in_client_mode_the_task_log_has_references_and_yarn_keeps_values(
    cluster, on_yarn, job, secret, no_leak, found
):
    on_yarn("client")
    values = {name: f"{CANARY}-{name}-in-client" for name in ("password", "token")}
    references = {name: secret(name, value) for name, value in values.items()}
    run = no_leak(
        job(
            "print",
            conf={"spark.app.password": references["password"]},
            env_vars={"APP_TOKEN": references["token"]},
            allow_exposed_arguments=True,
        )
    )

    assert run.state == "success", run.error
    assert found() == values
    assert f"the password is {references['password']}" in run.shown
    assert "On YARN, Spark copies its configuration into the staging directory" in run.shown
    assert places(cluster, values["password"]) == IN_CONFIGURATION
    assert places(cluster, values["token"]) == IN_CONFIGURATION | IN_ENVIRONMENT


@pytest.mark.usefixtures("providers_of_the_driver")
def test_a_driver_that_resolves_leaves_no_value_on_yarn(cluster, on_yarn, job, secret, no_leak, found, tmp_path):
    on_yarn("cluster")
    value = f"{CANARY}-resolved-in-the-driver"
    reference = secret("password", value)
    assert write_bundle(tmp_path / "driver.zip") == []
    run = no_leak(
        job(
            "resolve",
            "print",
            conf={"spark.app.password": reference},
            py_files=str(tmp_path / "driver.zip"),
            yarn_track_via_rm_api=True,
        ),
        state={},
    )

    assert run.state == "success", run.error
    assert found()["password"] == value
    assert places(cluster, value) == set()
    assert places(cluster, f"the password is {reference}") == {"log: stdout", "http: stdout"}


@pytest.mark.parametrize("given", [{"yarn_track_via_rm_api": True}, {"durable": False}], ids=["REST", "command"])
def test_an_application_that_waits_for_a_container_is_killed_with_its_task(cluster, on_yarn, job, run_task, given):
    on_yarn("cluster")
    before = cluster.applications().keys()

    def states():
        return [state for name, state in cluster.applications().items() if name not in before]

    def kill():
        assert eventually(lambda: has_ended or states() == ["ACCEPTED"], every=0.2)
        if not has_ended:
            os.kill(os.getpid(), signal.SIGTERM)

    has_ended = []
    steps = threading.Thread(target=kill)
    steps.start()
    try:
        run = run_task(job(conf={"spark.yarn.queue": "waiting"}, **given), state={})
    finally:
        has_ended.append(True)
        steps.join(LONGEST)

    assert run.state == "failed"
    assert eventually(lambda: states() == ["KILLED"], every=0.2)


class Lost(ConfiguredSparkSubmitOperator):
    """Ends while its job goes on, as with its worker."""

    def poll_until_complete(self, external_id, context):
        super()._keep_submitted(external_id, context)
        raise RuntimeError("the worker is gone")


def test_a_job_is_found_again_is_replaced_when_its_secret_changes_and_is_killed(
    cluster, on_yarn, job, secret, run_task, tmp_path, monkeypatch, sealing, capfd
):
    on_yarn("cluster")
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RELOAD_SETTLING", "0")
    before = cluster.applications().keys()
    state, has_ended, out = {}, [], tmp_path / "found.json"
    conf = {"spark.app.password": secret("password", f"{CANARY}-first")}
    given = {"conf": conf, "streaming": True, "yarn_track_via_rm_api": True}
    begun = run_task(job("endless", kind=Lost, **given), state=state)
    begun.task._try_state.run.close()

    def states():
        return [state for name, state in cluster.applications().items() if name not in before]

    def is_given(value):
        return out.exists() and json.loads(out.read_text())["password"] == f"{CANARY}-{value}"

    def steps():
        assert eventually(lambda: has_ended or (is_given("first") and states() == ["RUNNING"]), every=0.5)
        secret("password", f"{CANARY}-second")
        assert eventually(lambda: has_ended or (is_given("second") and states() == ["KILLED", "RUNNING"]), every=0.5)
        if not has_ended:
            os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=steps)
    thread.start()
    try:
        run = run_task(job("endless", dag=DAG("flights", schedule=None), **given), state=state, try_number=2)
    finally:
        has_ended.append(True)
        thread.join(LONGEST)

    assert "the worker is gone" in str(begun.error)
    assert run.state == "failed"
    assert "follows job application_" in run.rendered["effective_config"][0]
    assert is_given("second")
    assert eventually(lambda: states() == ["KILLED", "KILLED"], every=0.2)
    assert CANARY not in "".join(capfd.readouterr()) + str(state)
