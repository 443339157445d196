"""The stock operator's durable mode, on a real standalone cluster: a retry finds the job again."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import textwrap
from contextlib import suppress
from pathlib import Path

import pyspark
import pytest

from tests.integration.conftest import CANARY, stopped
from tests.limits import eventually
from tests.servers import quick_java
from tests.servers.ports import free_port

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.usefixtures("java")]

SPARK = Path(pyspark.__file__).parent

DAG = """
    from datetime import timedelta
    from airflow.sdk import DAG
    from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator

    def fail_once(context, result):
        if context["ti"].try_number == 1:
            raise RuntimeError("the worker is lost after the job has ended")

    with DAG("durable", schedule=None):
        ConfiguredSparkSubmitOperator(
            task_id="job",
            application={jar!r},
            conn_id="durable_cluster",
            java_class="org.apache.derby.tools.sysinfo",
            conf={{"spark.app.password": {password!r}, "spark.driver.memory": "512m"}},
            retries=1,
            retry_delay=timedelta(seconds=1),
            post_execute=fail_once,
        )
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A master with its REST interface, and a worker; gives the connection."""
    folder = tmp_path_factory.mktemp("cluster")
    port, rest, page = free_port(), free_port(), free_port()
    environ = {
        **os.environ,
        "SPARK_HOME": str(SPARK),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "JDK_JAVA_OPTIONS": quick_java.QUICK_JAVA,  # also for the driver that the Worker starts
        "SPARK_MASTER_OPTS": f"-Dspark.master.rest.enabled=true -Dspark.master.rest.port={rest}",
    }
    master = ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", port, "--webui-port", page]
    worker = ["org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--cores", "2", "--memory", "2g"]
    worker += ["--work-dir", folder, f"spark://127.0.0.1:{port}"]
    processes = [
        subprocess.Popen(
            [SPARK / "bin" / "spark-class", *map(str, command)], env=environ, cwd=folder, start_new_session=True
        )
        for command in (master, worker)
    ]
    with stopped(processes):
        for listening in (port, rest):
            _wait_for(listening)
        extra = {"deploy-mode": "cluster", "rest-port": str(rest)}
        yield {"conn_type": "spark", "host": f"spark://127.0.0.1:{port}", "extra": extra}


def _wait_for(port):
    def is_there():
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", port)).close()
            return True
        return False

    assert eventually(is_there, every=0.25), f"nothing listens on port {port}"


@pytest.fixture(scope="module")
def airflow(shared_airflow, cluster):
    shared_airflow.add_connection("durable_cluster", cluster)
    (jar,) = (SPARK / "jars").glob("derbytools-*.jar")
    dag = DAG.format(password=shared_airflow.seal("db-password", CANARY), jar=str(jar))
    shared_airflow.add_dags("durable", textwrap.dedent(dag))
    shared_airflow.state = shared_airflow.run("durable")
    return shared_airflow


def logs(airflow):
    return [path.read_text() for path in sorted(airflow.logs.glob("dag_id=durable/**/*.log"))]


def test_the_retry_succeeds_without_a_second_submission(airflow):
    first, second = logs(airflow)

    assert airflow.state == "success"
    assert "Spark-Submit cmd" in first
    assert "Job already completed successfully, skipping resubmission" in second
    assert "Spark-Submit cmd" not in second


def test_the_retry_shows_what_the_job_was_submitted_with(airflow):
    ((shown,),) = airflow.query("select rendered_fields from rendered_task_instance_fields where dag_id = 'durable'")
    lines = json.loads(shown)["effective_config"]

    assert lines[0].startswith("! This try has submitted nothing: it follows job driver-")
    assert any(line.startswith("spark.app.password = ${dir:") for line in lines)
    assert "Effective configuration:" not in logs(airflow)[1]


def test_what_is_kept_of_a_job_has_the_reference(airflow):
    submitted = "select value from task_state_store where dag_id = 'durable' and key = 'config_providers_submitted'"
    kept = str(airflow.query(submitted))

    assert "${dir:" in kept
    assert CANARY not in kept


def test_the_author_is_told_that_a_cluster_sees_the_configuration(airflow):
    assert "In cluster mode, Spark copies its configuration to the cluster" in logs(airflow)[0]


def test_nothing_in_airflow_shows_the_value(airflow):
    assert not [log for log in logs(airflow) if CANARY in log]
    assert airflow.rendered()
    assert CANARY not in str(airflow.rendered())
    assert CANARY not in "".join(airflow.output(part) for part in ("scheduler", "api-server"))
