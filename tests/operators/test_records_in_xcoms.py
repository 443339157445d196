"""The record that a try leaves in its XComs, where Airflow has no state of tasks. Run by Airflow's real task runner."""

from __future__ import annotations

import secrets
from importlib.util import find_spec

import pytest
from airflow.sdk import DAG

from airflow_config_providers.job.records.entries import LARGEST_ENTRY, PREFIX, unpacked
from airflow_config_providers.job.records.record import TaskTry
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from tests.operators.conftest import CANARY

pytestmark = pytest.mark.skipif(
    find_spec("airflow.sdk.bases.resumablejobmixin") is not None, reason="Airflow 3.3 keeps records in the task's state"
)


def operator(conf):
    with DAG("flights", schedule=None):
        return ConfiguredSparkSubmitOperator(task_id="job", application="job.jar", conf=conf, status_poll_interval=0)


def entries(run):
    """Return what the task pushed of its record, the last value of each key."""
    pushed = [one for one in run.supervisor.messages if type(one).__name__ == "SetXCom"]
    return {one.key: one.value for one in pushed if one.key.startswith(PREFIX)}


def record(run):
    return unpacked(entries(run), TaskTry("flights", "job", "run-1", -1, 1))


def test_a_try_leaves_a_record_of_its_configuration(run_task, connections, spark_submit, password, monkeypatch):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__PASSWORD_ENCODER_SECRET", "a secret of thirty-two bytes ....")
    run = run_task(operator({"spark.app.x": "1", "spark.app.password": password}))
    found = record(run)

    assert run.state == "success", run.error
    assert found.configs["spark.app.x"][0].value == "1"
    assert found.configs["spark.app.password"][0].value == password
    assert len(found.references[password]) == 32
    assert CANARY not in str(entries(run))


def test_a_large_record_is_in_parts_that_are_read(run_task, connections, spark_submit):
    configs = {f"spark.app.{n}": secrets.token_hex(900) for n in range(100)}
    run = run_task(operator(configs))

    assert len(entries(run)) > 1
    assert all(len(str(entry)) < LARGEST_ENTRY for entry in entries(run).values())
    assert {key: found[0].value for key, found in record(run).configs.items()} == configs


def test_a_refused_try_leaves_its_reason(run_task, connections, spark_submit, secrets_dir):
    missing = f"${{dir:{secrets_dir}:nowhere}}"
    run = run_task(operator({"spark.app.password": missing}))

    assert run.state == "failed"
    assert missing in record(run).problems[0]
