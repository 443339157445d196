"""What differs between two states, without a database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

pytest.importorskip("airflow")

from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.core.policy import AlterConfigPolicy, NamedPolicy, PolicyViolation, RequestMetadata
from airflow_config_providers.core.sensitive import HIDDEN
from airflow_config_providers.job.authored_job import AuthoredJob
from airflow_config_providers.planning import changes
from airflow_config_providers.planning.changes import Comparison, TaskChange
from airflow_config_providers.planning.plan import Policies, judgements_of_task
from airflow_config_providers.planning.state import State

TASK = ConfigResource.of_task("flights", "report")


def state(*configs: Mapping[str, str], tasks: int = 1, dynamic: Any = lambda task: ()) -> State:
    layers = tuple(ConfigLayer(ConfigSource.DAG_CONFIG, "conf", one) for one in configs)
    names = [TASK, *(ConfigResource.of_task("flights", f"report{number}") for number in range(1, tasks))]
    jobs = dict.fromkeys(names[:tasks], AuthoredJob(layers))
    return State(jobs, dynamic, lambda path, warn: None, {})


def compared(before: State, after: State, **more: Any) -> list[TaskChange]:
    return list(Comparison(before, after, **more).changes(before.jobs.keys() | after.jobs.keys()))


def kinds(found: list[TaskChange]) -> dict[str, str]:
    return {key.key: key.kind.value for one in found for key in one.keys}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param({}, {"spark.app.a": "1"}, {"spark.app.a": "added"}, id="added"),
        pytest.param({"spark.app.a": "1"}, {}, {"spark.app.a": "removed"}, id="removed"),
        pytest.param({"spark.app.a": "1"}, {"spark.app.a": "2"}, {"spark.app.a": "changed"}, id="changed"),
        pytest.param({"spark.app.a": "1"}, {"spark.app.a": "1"}, {}, id="same"),
        pytest.param({"spark.app.password": HIDDEN}, {"spark.app.password": "x"}, {}, id="secret-that-is-not-known"),
        pytest.param(
            {"spark.app.a": "${vault:a:b} token=hunter2"},
            {"spark.app.a": f"${{vault:a:b}}{HIDDEN}"},
            {},
            id="known-beside",
        ),
        pytest.param(
            {"spark.app.a": "${vault:a:b} token=hunter2"},
            {"spark.app.a": f"${{vault:a:c}}{HIDDEN}"},
            {"spark.app.a": "changed"},
            id="another-reference-beside-a-secret",
        ),
        pytest.param(
            {"spark.app.password": "${vault:a:b}"},
            {"spark.app.password": HIDDEN},
            {"spark.app.password": "changed"},
            id="reference-becomes-secret",
        ),
        pytest.param(
            {"spark.app.password": "y"}, {"spark.app.password": "x"}, {"spark.app.password": "changed"}, id="secrets"
        ),
    ],
)
def test_keys_that_differ(before: dict[str, str], after: dict[str, str], expected: dict[str, str]):
    assert kinds(compared(state(before), state(after))) == expected


def test_another_layer_with_the_same_value_is_no_change():
    dynamic = ConfigLayer(ConfigSource.DYNAMIC_DAG_CONFIG, "dynamic", {"spark.app.a": "1"})

    assert compared(state({"spark.app.a": "1"}), state({"spark.app.a": "1"}, dynamic=lambda task: [dynamic])) == []


def test_a_new_task_is_shown_even_without_keys():
    (found,) = compared(state(tasks=0), state())

    assert (found.is_new, found.is_removed) == (True, False)


def with_texts(**texts: str) -> State:
    return State({TASK: AuthoredJob(texts=texts)}, lambda task: (), lambda path, warn: None, {})


def test_references_in_arguments_are_compared_by_their_label():
    before = with_texts(**{"_env_vars['A']": "${vault:a:b}", "application_args[0]": "${vault:a:b}", "jars": "${env:J}"})
    after = with_texts(**{"_env_vars['A']": "${vault:a:c}", "files": "${env:F}", "jars": "${env:J}"})
    (found,) = compared(before, after)

    assert kinds([found]) == {"application_args[0]": "removed", "env_vars['A']": "changed", "files": "added"}
    changed = next(key for key in found.keys if key.key == "env_vars['A']")
    assert changed.after is not None
    assert (changed.after.value, changed.after.origin) == ("${vault:a:c}", "argument env_vars")


def test_environment_variables_are_compared():
    before, after = (
        State({TASK: AuthoredJob(environment={"A": text, "B": "1"})}, lambda task: (), lambda path, warn: None, {})
        for text in ("1g", "64g")
    )
    (found,) = compared(before, after)

    assert kinds([found]) == {"env_vars['A']": "changed"}


def test_policies_see_references_in_arguments_once():
    """They are in the layers of the comparison, but policies get them beside the layers."""
    (found,) = compared(with_texts(), with_texts(jars="${env:J}"))

    assert all("jars" not in layer.configs for layer in found.after)


def test_a_task_that_is_gone_is_shown_with_its_keys():
    (found,) = compared(state({"spark.app.a": "1"}), state(tasks=0))

    assert (found.is_new, found.is_removed) == (False, True)
    assert kinds([found]) == {"spark.app.a": "removed"}


def test_tasks_with_equal_layers_are_settled_once(monkeypatch: pytest.MonkeyPatch):
    settled: list[object] = []

    class Counting(changes.LayeredConfig):
        def __init__(self, *args: Any) -> None:
            settled.append(args)
            super().__init__(*args)

    monkeypatch.setattr(changes, "LayeredConfig", Counting)

    found = compared(state({"spark.app.a": "1"}, tasks=100), state({"spark.app.a": "2"}, tasks=100))

    assert (len(found), len(settled)) == (100, 2)


def test_each_task_is_counted_for_the_progress():
    ticks: list[int] = []

    compared(state(tasks=3), state(tasks=3), tick=lambda: ticks.append(1))

    assert len(ticks) == 3


def test_policies_see_what_environment_variables_would_set_in_a_planned_run():
    class Asked(AlterConfigPolicy):
        def validate(self, request: RequestMetadata) -> None:
            raise PolicyViolation(*(f"{key}={text}." for key, text in sorted(request.configs_after.items())))

    after = State({TASK: AuthoredJob(environment={"A": "1"})}, lambda task: (), lambda path, warn: None, {})
    change = TaskChange(TASK, [], [], [], is_new=True)
    policies = [NamedPolicy("asked", Asked())]
    (judged,) = judgements_of_task(Policies(policies, policies), change, after, after)

    told = " ".join(judged.verdict.reasons)
    assert "spark.kubernetes.driverEnv.A=1" in told
    assert "spark.yarn.appMasterEnv.A=1" in told
