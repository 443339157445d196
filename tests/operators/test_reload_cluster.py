"""A driver in a real standalone cluster is replaced there when the secret of its job changes."""

from __future__ import annotations

import json
import os
import signal
import threading
from contextlib import suppress
from pathlib import Path

import pyspark
import pytest

from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from tests.limits import LONGEST, eventually
from tests.servers.ports import free_port
from tests.servers.spark_cluster import read_url, spark_cluster

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.usefixtures("connections", "at_once"),
]

CANARIES = ["c4nary-first-s3cret", "c4nary-second-s3cret"]
JARS = Path(pyspark.__file__).parent / "jars"
ENDLESS = "org.apache.spark.deploy.history.HistoryServer"
"""A program in Spark's jars that runs until it is killed."""


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RELOAD_SETTLING", "0")


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """A cluster to which the default connection leads."""
    port = free_port()
    options = f"-Dspark.master.rest.enabled=true -Dspark.master.rest.port={port}"
    with spark_cluster(tmp_path / "cluster", variables={"SPARK_MASTER_OPTS": options}) as cluster:
        extra = {"deploy-mode": "cluster", "rest-port": str(port)}
        connection = {"conn_type": "spark", "host": cluster.master_url, "extra": extra}
        monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))
        monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        yield cluster


def eventually_drivers(cluster, has_ended=lambda: False, *, active, completed):
    """Wait until the cluster's drivers have these states, asking at a pace that a busy master can answer."""

    def are_so():
        with suppress(OSError):
            found = json.loads(read_url(f"{cluster.master.page}/json/"))
            states = [[driver["state"] for driver in found[f"{which}drivers"]] for which in ("active", "completed")]
            return has_ended() or states == [active, completed]

    return eventually(are_so, every=0.5)


def test_a_driver_in_a_cluster_is_killed_and_submitted_again_and_a_kill_of_the_task_leaves_none(
    dag, run_task, cluster, password, secrets_dir, tmp_path, capfd
):
    (tmp_path / "events").mkdir()
    (jar,) = JARS.glob("spark-core_*.jar")
    secret = secrets_dir / "db-password"
    secret.write_text(CANARIES[0])
    job = ConfiguredSparkSubmitOperator(
        task_id="job",
        dag=dag,
        application=str(jar),
        java_class=ENDLESS,
        streaming=True,
        conf={
            "spark.app.password": password,
            "spark.driver.memory": "512m",
            "spark.history.fs.logDirectory": (tmp_path / "events").as_uri(),
            "spark.history.ui.port": "0",
        },
    )
    has_ended, is_killed, state = threading.Event(), threading.Event(), {}
    steps = threading.Thread(target=_rotate_and_kill, args=(cluster, secret, has_ended.is_set, is_killed.set))
    steps.start()
    try:
        run = run_task(job, state=state)
    finally:
        has_ended.set()
        steps.join(LONGEST)

    assert run.state == "failed"
    assert is_killed.is_set()
    assert eventually_drivers(cluster, active=[], completed=["KILLED", "KILLED"])
    assert all(canary in cluster.seen() for canary in CANARIES)
    assert "c4nary" not in "".join(capfd.readouterr()) + str(state)


def _rotate_and_kill(cluster, secret, has_ended, note_kill):
    assert eventually_drivers(cluster, has_ended, active=["RUNNING"], completed=[])
    assert eventually(lambda: CANARIES[0] in cluster.seen() or has_ended(), every=0.2)
    secret.write_text(CANARIES[1])
    assert eventually_drivers(cluster, has_ended, active=["RUNNING"], completed=["KILLED"])
    assert eventually(lambda: CANARIES[1] in cluster.seen() or has_ended(), every=0.2)
    if not has_ended():
        note_kill()
        os.kill(os.getpid(), signal.SIGTERM)
