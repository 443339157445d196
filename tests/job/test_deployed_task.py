"""The job of a deployed task."""

from __future__ import annotations

import pytest

pytest.importorskip("airflow.providers.apache.spark")

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG
from airflow.serialization.serialized_objects import DagSerialization

from airflow_config_providers.job.deployed_task import deployed_job


@pytest.mark.parametrize(
    ("task_id", "has_hint"),
    [
        pytest.param("plain", True, id="a stock operator"),
        pytest.param("mapped", True, id="a stock operator, mapped"),
        pytest.param("other", False, id="an operator without Spark"),
    ],
)
def test_the_note_on_a_stock_operator_names_the_setting_that_configures_it(task_id: str, has_hint: bool):
    with DAG("flights", schedule=None) as dag:
        SparkSubmitOperator(task_id="plain", application="x.py")
        SparkSubmitOperator.partial(task_id="mapped", application="x.py").expand(conf=[{"spark.a": "1"}])
        EmptyOperator(task_id="other")
    task = DagSerialization.from_dict(DagSerialization.to_dict(dag)).get_task(task_id)
    notes: list[str] = []

    assert deployed_job(task, task_id, notes.append) is None
    assert len(notes) == 1
    assert ("apply_to" in notes[0]) == has_hint
