"""
A worker is killed while its job runs in a cluster; the retry follows the job, which keeps what Vault has lent to it.

Vault, the cluster and Airflow are real. What is killed is the process of the task; its supervisor tells Airflow of it.
"""

from __future__ import annotations

import json
import os
import signal
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.integration.conftest import Airflow
from tests.integration.shared.conftest import SharedAirflow
from tests.integration.test_vault_run import stored_connections
from tests.limits import eventually
from tests.providers.vault.processes import command, is_running
from tests.servers.fixtures import VaultServer
from tests.servers.spark_cluster import SparkCluster, SparkEnvironment, spark_cluster

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.usefixtures("java"),
    pytest.mark.parametrize("vault", [pytest.param("real", marks=pytest.mark.vault)], indirect=True),
]

pytest.importorskip("airflow.sdk.bases.resumablejobmixin", reason="a durable mode came with Airflow 3.3")

JOB = """
    import os, pathlib, sys, time
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized()
    jvm = os.getppid()
    runs, may_end = map(pathlib.Path, sys.argv[1:])
    new = runs.with_suffix(".new")
    new.write_text(SparkConf().get("spark.app.db.user"))
    new.rename(runs)
    while not may_end.exists() and os.getppid() == jvm:  # a JVM that is killed leaves its Python
        time.sleep(0.2)
"""

DAG = """
    import os, pathlib
    from datetime import timedelta
    from airflow.sdk import DAG
    from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator

    def write_down(context):
        pathlib.Path(f"{home}/lent-try-{{context['ti'].try_number}}").write_text(str(os.getpid()))

    with DAG("lent", schedule=None):
        ConfiguredSparkSubmitOperator(
            task_id="job",
            application={jar!r},
            conn_id="lent_cluster",
            config_conn_id="lent_providers",
            java_class="org.apache.spark.deploy.PythonRunner",
            application_args=[{job!r}, {job!r}, "{home}/lent-runs", "{home}/lent-may-end"],
            conf={{
                "spark.app.db.user": "${{vault:{creds}:username}}",
                "spark.app.db.password": "${{vault:{creds}:password}}",
                "spark.driver.memory": "512m",
            }},
            retries=1,
            retry_delay=timedelta(seconds=1),
            pre_execute=write_down,
        )
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[SparkCluster]:
    """A cluster whose master has its REST interface, which Airflow asks for the state of a driver."""
    rest = "-Dspark.master.rest.enabled=true -Dspark.master.rest.port=0"
    with spark_cluster(tmp_path / "cluster", variables={"SPARK_MASTER_OPTS": rest}) as cluster:
        yield cluster


@pytest.fixture
def airflow(vault: VaultServer, cluster: SparkCluster, shared_airflow: SharedAirflow) -> Airflow:
    """A deployment that signs in to Vault with an AppRole, and submits to the cluster."""
    creds = vault.creds()
    rest = cluster.master.wait_for(r"REST server for submitting applications on \S+ with port (\d+)")
    spark = {"conn_type": "spark", "host": cluster.master_url, "extra": {"deploy-mode": "cluster", "rest-port": rest}}
    shared_airflow.add_connection("lent_cluster", spark)
    providers, signs_in = stored_connections(vault, vault.approle(creds), conn_id="lent_vault")
    shared_airflow.add_connection("lent_providers", providers)
    shared_airflow.add_connection("lent_vault", signs_in)
    job = shared_airflow.home / "lent_job.py"
    job.write_text(textwrap.dedent(JOB))
    (jar,) = (SparkEnvironment.of().home / "jars").glob("spark-core_*.jar")
    dag = DAG.format(home=shared_airflow.home, jar=str(jar), job=str(job), creds=creds)
    shared_airflow.add_dags("lent", textwrap.dedent(dag))
    return shared_airflow


def test_what_is_lent_to_a_job_outlives_a_killed_worker_and_is_not_lent_again(
    airflow: Airflow, cluster: SparkCluster, vault: VaultServer
) -> None:
    run = airflow.trigger("lent")
    airflow.unpause("lent")
    user = airflow.wait("the driver", (airflow.home / "lent-runs").read_text)
    airflow.wait("what Airflow knows of the job", lambda: kept(airflow, "config_providers_submitted"))
    lent, tokens = only_lease(vault), vault.live_tokens()
    assert len(tokens) == 1
    vault.reset()

    kill_task(airflow, try_number=1)
    airflow.wait("the retry, which is rendered then", (airflow.home / "lent-try-2").exists)
    assert only_lease(vault) == lent, "the driver runs"
    assert vault.live_tokens() == tokens

    (airflow.home / "lent-may-end").touch()
    assert airflow.end("lent", run) == "success"
    job = kept(airflow, "spark_job_id")
    assert [job] == [folder.name for folder in cluster.work.glob("driver-*")]
    note = f"This try has submitted nothing: it follows job {job} of an earlier try, which is RUNNING."
    told, line = log(airflow, try_number=2), f"spark.app.db.user = ${{vault:{vault.database}/creds/app:username}}"
    assert note in told
    assert line in told.partition("Configuration of the job:")[2]
    assert "Spark-Submit cmd" not in told
    assert user not in told
    first, *others = shown(airflow)
    assert first.startswith(f"! {note}")
    assert any(other.startswith(line) for other in others)

    assert vault.requests() == (), "nobody has signed in, read, renewed or given back since the kill"
    assert only_lease(vault) == lent, "the job has ended, and the worker that knew of the lease is gone"
    shorten(vault, lent)
    assert eventually(lambda: not vault.live_leases(), every=0.2), "it ends by itself"


def only_lease(vault: VaultServer) -> dict[str, Any]:
    """Return what Vault says of the one live lease, without the time that it has left."""
    (lease,) = vault.live_leases()
    found = vault.admin.write_data("sys/leases/lookup", data={"lease_id": lease})["data"]
    return {name: value for name, value in found.items() if name != "ttl"}


def shorten(vault: VaultServer, lease: dict[str, Any]) -> None:
    """Let a lease end in a second, as it would after an hour."""
    vault.admin.write_data("sys/leases/renew", data={"lease_id": lease["id"], "increment": 1})


def kill_task(airflow: Airflow, *, try_number: int) -> None:
    """Kill the process of a task, and wait until its helper has ended, and so has done its work."""
    task = psutil.Process(int((airflow.home / f"lent-try-{try_number}").read_text()))
    (helper,) = (child.pid for child in task.children() if "give_back" in command(child.pid))
    os.kill(task.pid, signal.SIGKILL)
    assert eventually(lambda: not is_running(helper))


def log(airflow: Airflow, *, try_number: int) -> str:
    return "".join(path.read_text() for path in airflow.logs.glob(f"dag_id=lent/**/attempt={try_number}.log"))


def kept(airflow: Airflow, key: str) -> Any:
    """Return what Airflow keeps of the task under ``key``; None if there is nothing yet."""
    rows = airflow.query("select value from task_state_store where dag_id = 'lent' and key = ?", key)
    return json.loads(rows[0][0]) if rows else None


def shown(airflow: Airflow) -> list[str]:
    """Return the lines of the task's field ``effective_config``, as people see them."""
    ((fields,),) = airflow.query("select rendered_fields from rendered_task_instance_fields where dag_id = 'lent'")
    return list(json.loads(fields)["effective_config"])
