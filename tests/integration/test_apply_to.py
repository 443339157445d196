"""A deployment with ``apply_to = spark``: DAGs that nobody edited, stored and run by Airflow's own commands."""

from __future__ import annotations

import json
import os
import stat
import sys
import textwrap

import pytest

from tests.integration.conftest import CANARY, WithoutTriggerer
from tests.operators.conftest import SPARK_SUBMIT

pytestmark = [pytest.mark.integration, pytest.mark.slow]

DAG = """
    from airflow.sdk import DAG
    from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

    CONF = {{"spark.app.password": {password!r}, "spark.app.run": "{{{{ run_id }}}}"}}

    with DAG("untouched", schedule=None):
        SparkSubmitOperator(task_id="plain", application="job.py", conf=CONF)
        SparkSubmitOperator.partial(task_id="mapped", application="job.py").expand(conf=[CONF, CONF])
    with DAG("legacy", schedule=None, tags=["config_providers:off"]):
        SparkSubmitOperator(task_id="plain", application="job.py", conf={{"spark.app.x": "${{dir:/x:y}}"}})
"""


@pytest.fixture(scope="module")
def airflow(tmp_path_factory):
    """A deployment that has read its DAGs twice, and after ``airflow dags test`` of each."""
    home = tmp_path_factory.mktemp("airflow")
    binaries = home / "bin"
    deployment = WithoutTriggerer(
        home,
        AIRFLOW__CONFIG_PROVIDERS__APPLY_TO="spark",
        PATH=f"{binaries}{os.pathsep}{os.environ['PATH']}",
        SPARK_CONF_DIR=str(home / "spark-conf"),
    )
    binaries.mkdir()
    deployment.record = home / "submissions.jsonl"
    program = binaries / "spark-submit"
    source = SPARK_SUBMIT.format(python=sys.executable, record=str(deployment.record))
    program.write_text(source.replace("sys.exit(int(", "print('the job has', seen['properties'])\nsys.exit(int("))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    password = deployment.seal("db-password", CANARY)
    (deployment.dags / "dags.py").write_text(textwrap.dedent(DAG.format(password=password)))
    for words in (("db", "migrate"), ("dags", "reserialize"), ("dags", "reserialize")):
        deployment.cli(*words)
    deployment.tested = [deployment.cli("dags", "test", name) for name in ("untouched", "legacy")]
    return deployment


def submissions(airflow):
    return [json.loads(line) for line in airflow.record.read_text().splitlines()]


def test_every_job_got_the_value(airflow):
    ours = [s for s in submissions(airflow) if s["properties"] and CANARY in s["properties"]]

    assert len(ours) == 3  # plain and two mapped ones
    assert CANARY not in str([s["arguments"] for s in submissions(airflow)])


def test_templates_are_rendered(airflow):
    assert "{{" not in airflow.record.read_text()


def test_a_dag_that_opted_out_is_as_it_was(airflow):
    (legacy,) = (s for s in submissions(airflow) if "spark.app.x" in s["conf"])

    assert legacy["conf"]["spark.app.x"] == "${dir:/x:y}"
    assert legacy["properties"] is None


def test_airflow_stores_the_stock_operator_in_one_version(airflow):
    operators = airflow.query("select distinct operator from task_instance")
    versions = airflow.query("select dag_id, count(*) from dag_version group by dag_id order by dag_id")

    assert operators == [("SparkSubmitOperator",)]
    assert versions == [("legacy", 1), ("untouched", 1)]


def test_attack_30_the_value_is_in_no_log_no_row_and_no_output(airflow):
    logs = "".join(path.read_text(errors="replace") for path in airflow.logs.rglob("*.log"))
    shown = logs + "".join(tested.stdout + tested.stderr for tested in airflow.tested)

    assert "the job has" in shown
    assert CANARY not in shown
    assert CANARY.encode() not in (airflow.home / "airflow.db").read_bytes()
