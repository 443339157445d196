"""Executors whose worker is a process of its own: it resolves references, and nothing that they keep has a value."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import subprocess
import sys
import textwrap
from contextlib import closing

import pytest

from dags_examples.demo.search import Search, Secret
from tests.integration.conftest import CANARY, WithoutTriggerer
from tests.limits import LONGEST, eventually
from tests.operators.conftest import SPARK_SUBMIT
from tests.servers.ports import free_port

pytestmark = [pytest.mark.integration, pytest.mark.slow]

DAG = """
    from airflow.sdk import DAG
    from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
    from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator

    CONF = {{"spark.app.password": {password!r}}}

    with DAG("ours", schedule=None):
        ConfiguredSparkSubmitOperator(task_id="job", application="job.py", conf=CONF)
    with DAG("stock", schedule=None):
        SparkSubmitOperator(task_id="job", application="job.py", conf=CONF)
    with DAG("fails", schedule=None):
        ConfiguredSparkSubmitOperator(task_id="job", application="job.py", conf={{**CONF, "spark.app.fail": "yes"}})
"""


class WithWorker(WithoutTriggerer):
    """A deployment with a worker that cannot reach Airflow's database."""

    worker: str
    """The command that starts the worker."""

    @property
    def parts(self):
        return (*WithoutTriggerer.parts, self.worker)

    def _environ(self):
        return {**super()._environ(), "AIRFLOW__CONFIG_PROVIDERS__APPLY_TO": "spark"}

    def _start(self, part):
        if part != self.worker:
            return super()._start(part)
        environ = {**self.environ, **self._of_worker()}
        with (self.home / f"{part}.out").open("wb") as output:
            command = [sys.executable, "-m", "airflow", *part.split()]
            return subprocess.Popen(
                command, env=environ, cwd=self.home, stdout=output, stderr=output, start_new_session=True
            )

    def _of_worker(self):
        return {"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": "sqlite:////nowhere/airflow.db"}


class WithCelery(WithWorker):
    """The CeleryExecutor; its broker and its results are files."""

    package = "airflow.providers.celery"
    way_out = "pip install apache-airflow-providers-celery 'celery<5.7'"
    worker = "celery worker"

    def _environ(self):
        return {
            **super()._environ(),
            "AIRFLOW__CORE__EXECUTOR": "CeleryExecutor",
            "AIRFLOW__CELERY__BROKER_URL": f"sqla+sqlite:///{self.home}/broker.db",
            "AIRFLOW__CELERY__RESULT_BACKEND": f"db+sqlite:///{self.home}/results.db",
            "AIRFLOW__CELERY__WORKER_CONCURRENCY": "1",
            "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(free_port()),
        }

    def kept(self):
        """What the broker kept of the tasks."""
        with closing(sqlite3.connect(self.home / "broker.db")) as database:
            return database.execute("select payload from kombu_message").fetchall()


class WithEdge(WithWorker):
    """The EdgeExecutor; its worker has logs of its own, and sends them to the API server."""

    package = "airflow.providers.edge3"
    way_out = "pip install apache-airflow-providers-edge3"
    worker = "edge worker --concurrency 1 --edge-hostname edge"

    def _environ(self):
        return {
            **super()._environ(),
            "AIRFLOW__CORE__EXECUTOR": "airflow.providers.edge3.executors.EdgeExecutor",
            "AIRFLOW__EDGE__API_ENABLED": "True",
            "AIRFLOW__EDGE__API_URL": f"{self.server}/edge_worker/v1/rpcapi",
            "AIRFLOW__EDGE__JOB_POLL_INTERVAL": "1",
            "AIRFLOW__API_AUTH__JWT_LEEWAY": f"{LONGEST:g}",
        }

    def _of_worker(self):
        return {**super()._of_worker(), "AIRFLOW__LOGGING__BASE_LOG_FOLDER": str(self.home / "logs-of-worker")}

    def kept(self):
        """What Airflow's database kept of the tasks."""
        return self.query("select command from edge_job")


@pytest.fixture(scope="module", params=[WithCelery, WithEdge], ids=["celery", "edge"])
def airflow(request, tmp_path_factory):
    """A deployment after three runs, with what their jobs got."""
    pytest.importorskip(request.param.package, reason=f"the executor is missing: {request.param.way_out}")
    jobs = tmp_path_factory.mktemp("jobs")
    deployment = request.param(tmp_path_factory.mktemp("airflow"), PATH=f"{jobs}{os.pathsep}{os.environ['PATH']}")
    deployment.record = jobs / "submissions.jsonl"
    program = jobs / "spark-submit"
    program.write_text(spark_submit(deployment.record))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    dag = DAG.format(password=deployment.seal("db-password", CANARY))
    (deployment.dags / "dags.py").write_text(textwrap.dedent(dag))
    with deployment:
        deployment.states = {dag_id: deployment.run(dag_id) for dag_id in ("ours", "stock", "fails")}
        yield deployment


def spark_submit(record):
    """Return a program that prints what it got, and fails if its configuration says so."""
    source = SPARK_SUBMIT.format(python=sys.executable, record=str(record))
    prints = "print('the job has', seen['properties'])\nsys.exit(int('spark.app.fail' in seen['conf'] or "
    return source.replace("sys.exit(int(", prints)


def logs(airflow, dag_id):
    return "\n".join(path.read_text() for path in sorted(airflow.logs.glob(f"dag_id={dag_id}/**/*.log")))


def test_the_runs_end_as_they_should(airflow):
    assert airflow.states == {"ours": "success", "stock": "success", "fails": "failed"}


def test_every_job_got_the_value(airflow):
    jobs = [json.loads(line) for line in airflow.record.read_text().splitlines()]

    assert len(jobs) == 3
    assert all(CANARY in job["properties"] for job in jobs)
    assert CANARY not in str([job["arguments"] for job in jobs])


@pytest.mark.parametrize("dag_id", ["ours", "stock", "fails"])
def test_what_a_job_prints_is_logged_with_references(airflow, dag_id):
    reference = f"${{dir:{airflow.secrets}:db-password}}"

    assert eventually(lambda: reference in logs(airflow, dag_id))  # a worker at the edge sends the end a moment later


def test_the_executor_kept_each_task(airflow):
    """So what the search below reads is what the executor wrote."""
    assert len(airflow.kept()) >= 3


def test_nothing_that_the_runs_left_behind_has_the_value(airflow):
    """Messages, results, what the worker printed, logs, and every table of Airflow; in a dozen encodings."""
    search = Search([Secret.of("canary", CANARY)])
    search.tree(airflow.home, leave_out=[airflow.secrets])
    for path in airflow.home.glob("*.db"):
        search.database(path)

    assert [(finding.place, finding.form) for finding in search.found] == []
