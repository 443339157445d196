"""What Vault lends to a job lasts as long as the job, however it ends: real scheduler, real spark-submit."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import textwrap

import psutil
import pytest

from tests.integration.conftest import CANARY, Airflow, WithoutTriggerer

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.usefixtures("java")]

JOB = """
    import hashlib, pathlib, sys, time
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.getOrCreate()
    password = spark.conf.get("spark.app.password")
    print("DIGEST", hashlib.sha256(password.encode()).hexdigest())
    print("PROBE", password, spark.conf.get("spark.app.db.user"), spark.conf.get("spark.app.db.password"))
    mark, release = map(pathlib.Path, sys.argv[1:])
    mark.write_text(spark.conf.get("spark.app.db.user"))
    while not release.exists():
        time.sleep(0.2)
    spark.stop()
"""

WAIT = """
    import pathlib, sys, time

    mark, release = map(pathlib.Path, sys.argv[1:])
    mark.write_text("it does not ask for its user")
    while not release.exists():
        time.sleep(0.2)
"""
"""What a job does that is ended by others: it needs no session of Spark for that."""

DAG = """
    from airflow.sdk import DAG
    from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator

    for name, job in (("ends", "job"), ("killed", "wait"), ("stopped", "wait")):
        with DAG(name, schedule=None) as dag:
            ConfiguredSparkSubmitOperator(
                task_id="job",
                application=f"{home}/{{job}}.py",
                application_args=[f"{home}/{{name}}-runs", f"{home}/{{name}}-may-end"],
                conf={{
                    "spark.app.password": "${{vault:{kv}/apps/db:password}}",
                    "spark.app.db.user": "${{vault:{creds}:username}}",
                    "spark.app.db.password": "${{vault:{creds}:password}}",
                    "spark.log.level": "WARN",
                    "spark.ui.enabled": False,
                }},
            )
        globals()[name] = dag
"""


@pytest.fixture
def airflow(vault, tmp_path):
    """A deployment whose providers are this test's Vault, signed in to by an AppRole."""
    home = tmp_path / "airflow"
    vault.put("apps/db", {"password": CANARY})
    creds = vault.creds()
    role = vault.approle(f"{vault.kv2}/data/apps/*", creds)
    deployment = WithoutTriggerer(home, **connections(vault, role))
    (home / "job.py").write_text(textwrap.dedent(JOB))
    (home / "wait.py").write_text(textwrap.dedent(WAIT))
    dag = DAG.format(home=str(home), kv=vault.kv2, creds=creds)
    (deployment.dags / "lent.py").write_text(textwrap.dedent(dag))
    with deployment:
        yield deployment


def connections(vault, role):
    """Return the variables of a deployment whose providers are a Vault."""
    providers, signs_in = stored_connections(vault, role, conn_id="vault_default")
    stored = {"CONFIG_PROVIDERS_DEFAULT": providers, "VAULT_DEFAULT": signs_in}
    return {f"AIRFLOW_CONN_{name}": json.dumps(connection) for name, connection in stored.items()}


def stored_connections(vault, role, *, conn_id):
    """Return the connection that defines the provider, and the one that it signs in with, whose id is ``conn_id``."""
    host, _, port = vault.address.removeprefix("http://").rpartition(":")
    providers = {
        "config.providers": "vault",
        "config.providers.vault.class": "vault",
        "config.providers.vault.param.conn_id": conn_id,
    }
    signs_in = {
        "conn_type": "vault",
        "host": host,
        "port": int(port),
        "login": role.role_id,
        "password": role.secret_id,
        "extra": {"auth_type": "approle"},
    }
    return {"conn_type": "config_providers", "extra": providers}, signs_in


def test_attack_44_what_vault_lends_lasts_as_long_as_the_job(airflow, vault):
    running = start(airflow, vault, "ends")
    assert len(vault.live_leases()) == 1
    assert len(vault.live_tokens()) == 1

    (airflow.home / "ends-may-end").touch()
    assert airflow.wait("the end of the job", lambda: state(airflow, "ends") == "success")
    airflow.wait("the lease to be given back", lambda: not vault.live_leases() and not vault.live_tokens())
    read = [request.path for request in vault.requests() if request.method == "GET" and request.status == 200]
    assert sum(path.endswith(("apps/db", "/creds/app")) and "/ui/" not in path for path in read) == 2, (
        "one for each path"
    )
    assert sum(request.is_login for request in vault.requests()) == 1

    log = "\n".join(path.read_text() for path in airflow.logs.glob("dag_id=ends/**/*.log"))
    assert f"DIGEST {hashlib.sha256(CANARY.encode()).hexdigest()}" in log
    assert f"PROBE ${{vault:{vault.kv2}/apps/db:password}}" in log
    assert CANARY not in log
    assert running not in log, "the name of the database user is Vault's secret too"

    start(airflow, vault, "killed")
    kill(airflow, "killed", signal.SIGKILL)
    airflow.wait("the lease of a killed task", lambda: not vault.live_leases() and not vault.live_tokens())
    (airflow.home / "killed-may-end").touch()

    start(airflow, vault, "stopped")
    task = "/api/v2/dags/stopped/dagRuns/~/taskInstances"
    (instance,) = airflow.get(task)["task_instances"]
    path = f"/api/v2/dags/stopped/dagRuns/{instance['dag_run_id']}/taskInstances/job"
    airflow.post(path, {"new_state": "failed"}, method="PATCH")
    airflow.wait("the lease of a stopped task", lambda: not vault.live_leases() and not vault.live_tokens())
    (airflow.home / "stopped-may-end").touch()


def start(airflow: Airflow, vault, dag_id: str) -> str:
    """Trigger a DAG, wait until its job runs and give the database user that it has."""
    vault.reset()
    airflow.wait(f"DAG {dag_id}", lambda: airflow.query("select 1 from serialized_dag where dag_id = ?", dag_id))
    airflow.post(f"/api/v2/dags/{dag_id}", {"is_paused": False}, method="PATCH")
    airflow.post(f"/api/v2/dags/{dag_id}/dagRuns", {"logical_date": None})
    mark = airflow.home / f"{dag_id}-runs"
    airflow.wait(f"the job of {dag_id}", mark.exists)
    return str(airflow.wait("its user", mark.read_text))


def state(airflow: Airflow, dag_id: str) -> str:
    return str(airflow.query("select state from dag_run where dag_id = ?", dag_id)[0][0])


def kill(airflow: Airflow, dag_id: str, number: signal.Signals) -> None:
    """Signal the process of a task: the nearest Python above the spark-submit that runs this DAG's job."""
    mark = str(airflow.home / f"{dag_id}-runs")
    found = psutil.process_iter(["name", "cmdline"])  # a process that has just ended has no words
    submits = [p for p in found if p.info["name"] == "java" and mark in (p.info["cmdline"] or ())]
    task = next(parent for parent in submits[0].parents() if parent.name().startswith(("python", "airflow")))
    os.kill(task.pid, number)
