"""Tasks of the CeleryExecutor: their worker resolves references, and neither the broker nor the results have values."""

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
from tests.integration.conftest import CANARY, WithoutTriggerer, free_port
from tests.operators.conftest import SPARK_SUBMIT

pytest.importorskip(
    "airflow.providers.celery", reason="no CeleryExecutor: pip install apache-airflow-providers-celery 'celery<5.7'"
)
pytestmark = [pytest.mark.integration, pytest.mark.slow]

WORKER = "celery worker"

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


class WithCelery(WithoutTriggerer):
    """A deployment with a worker of Celery, which cannot reach Airflow's database; broker and results are files."""

    parts = (*WithoutTriggerer.parts, WORKER)

    def _environ(self):
        return {
            **super()._environ(),
            "AIRFLOW__CORE__EXECUTOR": "CeleryExecutor",
            "AIRFLOW__CELERY__BROKER_URL": f"sqla+sqlite:///{self.home}/broker.db",
            "AIRFLOW__CELERY__RESULT_BACKEND": f"db+sqlite:///{self.home}/results.db",
            "AIRFLOW__CELERY__WORKER_CONCURRENCY": "1",
            "AIRFLOW__CONFIG_PROVIDERS__APPLY_TO": "spark",
            "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(free_port()),
        }

    def _start(self, part):
        if part != WORKER:
            return super()._start(part)
        environ = {**self.environ, "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": "sqlite:////nowhere/airflow.db"}
        with (self.home / f"{part}.out").open("wb") as output:
            command = [sys.executable, "-m", "airflow", *part.split()]
            return subprocess.Popen(
                command, env=environ, cwd=self.home, stdout=output, stderr=output, start_new_session=True
            )


@pytest.fixture(scope="module")
def airflow(tmp_path_factory):
    """A deployment after three runs, with what their jobs got."""
    jobs = tmp_path_factory.mktemp("jobs")
    deployment = WithCelery(tmp_path_factory.mktemp("airflow"), PATH=f"{jobs}{os.pathsep}{os.environ['PATH']}")
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
    """A program that prints what it got, and fails if it is told to."""
    source = SPARK_SUBMIT.format(python=sys.executable, record=str(record))
    prints = "print('the job has', seen['properties'])\nsys.exit(int('spark.app.fail' in seen['conf'] or "
    return source.replace("sys.exit(int(", prints)


def logs(airflow, dag_id):
    return "\n".join(path.read_text() for path in sorted(airflow.logs.glob(f"dag_id={dag_id}/**/*.log")))


def column(path, query):
    with closing(sqlite3.connect(path)) as database:
        return [str(value) for (value,) in database.execute(query)]


def test_the_runs_end_as_they_should(airflow):
    assert airflow.states == {"ours": "success", "stock": "success", "fails": "failed"}


def test_every_job_got_the_value(airflow):
    jobs = [json.loads(line) for line in airflow.record.read_text().splitlines()]

    assert len(jobs) == 3
    assert all(CANARY in job["properties"] for job in jobs)
    assert CANARY not in str([job["arguments"] for job in jobs])


@pytest.mark.parametrize("dag_id", ["ours", "stock", "fails"])
def test_what_a_job_prints_is_logged_with_references(airflow, dag_id):
    assert f"${{dir:{airflow.secrets}:db-password}}" in logs(airflow, dag_id)


def test_the_broker_and_the_results_name_each_task(airflow):
    """So what the search below reads is what Celery wrote."""
    messages = column(airflow.home / "broker.db", "select payload from kombu_message")
    results = column(airflow.home / "results.db", "select status from celery_taskmeta")

    assert len(messages) >= 3
    assert len(results) == 3


def test_nothing_that_the_runs_left_behind_has_the_value(airflow):
    """The broker, the results, what the worker printed, logs, and every table of Airflow; in a dozen encodings."""
    search = Search([Secret.of("canary", CANARY)])
    search.tree(airflow.home, leave_out=[airflow.secrets])
    for name in ("airflow.db", "broker.db", "results.db"):
        search.database(airflow.home / name)

    assert [(finding.place, finding.form) for finding in search.found] == []
