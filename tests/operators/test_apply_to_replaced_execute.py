"""A policy that replaces the ``execute`` of a task before ``apply_to`` configures it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import DAG

from airflow_config_providers import cluster_policy
from tests.operators.conftest import CANARY


def with_bound_method(task: Any) -> Callable[[Any], Any]:
    return task.execute


def with_rendered_task(task: Any) -> Callable[[Any], Any]:
    return lambda context: type(context["task"]).execute(context["task"], context)


@pytest.fixture
def replaced(connections, password, monkeypatch):
    """Return a function that makes a configured task, whose ``execute`` was replaced before."""
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__APPLY_TO", "spark")

    def make(execute):
        with DAG("d", schedule=None):
            task = SparkSubmitOperator(task_id="t", application="x.jar", conf={"spark.app.x": password})
        task.execute = execute(task)
        cluster_policy.task_policy(task)
        return task

    return make


def test_calling_the_method_that_was_there_before_is_named_as_the_cause(replaced, run_task, spark_submit, capfd):
    run = run_task(replaced(with_bound_method))

    assert run.state == "failed"
    assert "by a function that calls the method that was there before" in "".join(capfd.readouterr())


def test_calling_the_method_of_the_rendered_task_gives_it_values(replaced, run_task, spark_submit):
    run = run_task(replaced(with_rendered_task))

    assert run.state == "success"
    assert spark_submit.spark_conf["spark.app.x"] == CANARY
