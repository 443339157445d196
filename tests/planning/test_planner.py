"""What is compared, and why a change of dynamic configuration changes nothing in jobs, without a database."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import nullcontext

import pytest

pytest.importorskip("airflow")

from airflow_config_providers.core.alter import ConfigResource, ResourceType
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.core.policy import RequestMetadata
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.planning.plan import PlannedAlter, Policies
from airflow_config_providers.planning.planner import PlanMaker, PlanRequest, reasons

DAG = ConfigResource(ResourceType.DAG, "flights")
TASKS = [ConfigResource.of_task("flights", name) for name in ("a", "b", "c", "d", "e")]
CANARY = "c4nary"


def layer(source: ConfigSource, **configs: str) -> ConfigLayer:
    return ConfigLayer(source, "here", {f"spark.app.{key}": value for key, value in configs.items()})


def told(*others: ConfigLayer, after: Mapping[str, str], changed: bool = True, tasks: int = 1) -> list[str]:
    own = layer(ConfigSource.DYNAMIC_DAG_CONFIG, **after)
    altered = PlannedAlter(DAG, RequestMetadata(DAG, {}, {}), own, ["spark.app.x"] if changed else [])
    return list(reasons(altered, ["spark.app.x"], {task: [own, *others] for task in TASKS[:tasks]}))


@pytest.mark.parametrize(
    ("other", "after", "reason"),
    [
        pytest.param(
            layer(ConfigSource.DYNAMIC_TASK_CONFIG, x="1"), {"x": "2"}, "DYNAMIC_TASK_CONFIG, here, wins.", id="beaten"
        ),
        pytest.param(
            layer(ConfigSource.DYNAMIC_TASK_CONFIG, x="1"), {}, "DYNAMIC_TASK_CONFIG, here, wins.", id="deleted, beaten"
        ),
        pytest.param(
            layer(ConfigSource.DAG_CONFIG, x="1"), {"x": "1"}, "DAG_CONFIG, here, has the same value.", id="same"
        ),
        pytest.param(
            layer(ConfigSource.DAG_CONFIG, x="1"), {}, "DAG_CONFIG, here, has the same value.", id="deleted, same"
        ),
    ],
)
def test_a_key_that_changes_in_no_job_has_a_reason(other: ConfigLayer, after: Mapping[str, str], reason: str):
    assert told(other, after=after) == [f"'spark.app.x' does not change in flights.a: {reason}"]


@pytest.mark.parametrize(("after", "reason"), [({"x": "1"}, "has this value already"), ({}, "does not set it")])
def test_a_change_of_nothing_is_told_once_for_its_resource(after: Mapping[str, str], reason: str):
    assert told(after=after, changed=False, tasks=5) == [f"'spark.app.x' does not change: {DAG} {reason}."]


def test_tasks_with_the_same_reason_share_a_sentence():
    (sentence,) = told(layer(ConfigSource.DAG_CONFIG, x="1"), after={"x": "1"}, tasks=5)

    assert "in flights.a, flights.b, flights.c and 2 more: DAG_CONFIG" in sentence


def test_a_deployment_without_jobs_is_told():
    assert told(after={"x": "1"}, tasks=0) == [
        "'spark.app.x' does not change in any job: this package configures none."
    ]


def test_hidden_values_are_not_compared_and_no_value_is_shown():
    own = ConfigLayer(ConfigSource.DYNAMIC_DAG_CONFIG, "own", {"spark.app.password": CANARY})
    other = ConfigLayer(ConfigSource.DAG_CONFIG, "conf", {"spark.app.password": CANARY})
    altered = PlannedAlter(DAG, RequestMetadata(DAG, {}, {}), own, ["spark.app.password"])
    (sentence,) = reasons(altered, ["spark.app.password"], {TASKS[0]: [own, other]})

    assert sentence.endswith("DAG_CONFIG, conf, has it too, and the values are hidden, so they were not compared.")
    assert CANARY not in sentence


ELSEWHERE = [{"name": "team_b", "classpath": "airflow.providers.git.bundles.git.GitDagBundle", "kwargs": {}}]


def test_stored_dags_of_other_bundles_are_not_compared_with_a_revision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST", json.dumps(ELSEWHERE))
    maker = PlanMaker(Policies((), ()), print, lambda count, name: nullcontext(lambda: None))

    with pytest.raises(ConfigException, match=r"those of team_b are not in .* Name the first revision with --from"):
        maker.plan(PlanRequest(after="HEAD"))
