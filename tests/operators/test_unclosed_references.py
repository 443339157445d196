"""References without the closing brace, in a task that Airflow's real task runner runs."""

from __future__ import annotations

import io

import pytest

from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from tests.operators.conftest import structlog_to

WARNING = "begins a reference that is not closed"


@pytest.fixture
def ran(dag, spark_submit, run_task):
    """Run a job with a value: ``ran(value)`` gives what the job got and what the task logged."""

    def run(value):
        conf = {"spark.app.password": value}
        with structlog_to(io.StringIO()) as logged:
            done = run_task(ConfiguredSparkSubmitOperator(task_id="job", application="job.py", dag=dag, conf=conf))
        assert done.state == "success"
        return spark_submit.spark_conf["spark.app.password"], logged.getvalue()

    return run


@pytest.mark.usefixtures("connections")
def test_a_reference_that_is_not_closed_is_noted_in_the_task_log(ran):
    value, logged = ran("${dir:/secrets/db:password")

    assert value == "${dir:/secrets/db:password"
    assert "spark.app.password (conf): '${dir:' begins a reference that is not closed" in logged


@pytest.mark.usefixtures("connections")
@pytest.mark.parametrize("value", ["${nobody:/secrets/db:password", "${HOME:-", "a ${ b"])
def test_other_text_that_looks_like_one_passes_without_a_note(ran, value):
    found, logged = ran(value)

    assert found == value
    assert WARNING not in logged


def test_without_a_connection_that_defines_providers_there_is_no_note(ran, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", '{"conn_type": "spark", "host": "local[1]"}')

    assert WARNING not in ran("${dir:/secrets/db:password")[1]
