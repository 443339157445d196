"""The facet for OpenLineage's events."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("airflow.providers.openlineage", reason="of the extra leaks")

from airflow.providers.openlineage.utils.utils import get_user_provided_run_facets
from airflow.sdk import DAG
from openlineage.client.serde import Serde

from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from tests.operators.conftest import CANARY


@pytest.fixture(autouse=True)
def facets(monkeypatch):
    monkeypatch.setenv(
        "AIRFLOW__OPENLINEAGE__CUSTOM_RUN_FACETS", "airflow_config_providers.operators.lineage.record_facet"
    )
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__PASSWORD_ENCODER_SECRET", "a secret of thirty-two bytes ....")


def operator(conf):
    with DAG("flights", schedule=None):
        return ConfiguredSparkSubmitOperator(task_id="job", application="job.jar", conf=conf)


def test_the_event_of_a_task_says_where_each_key_came_from(run_task, connections, spark_submit, password):
    run = run_task(operator({"spark.app.x": CANARY, "spark.app.password": password}), state={})
    facet = get_user_provided_run_facets(run.ti, "success")["configProviders"]
    sent = Serde.to_json(facet)

    assert facet.keys["spark.app.x"] == {"source": "DAG_CONFIG", "origin": "conf"}
    assert len(json.loads(sent)["references"][password]) == 32
    assert CANARY not in sent


def test_before_a_job_is_submitted_there_is_no_facet(run_task, connections, spark_submit):
    run = run_task(operator({"spark.app.x": "1"}), state={})
    run.ti.task._try_state.record = None

    assert get_user_provided_run_facets(run.ti, "running") == {}
