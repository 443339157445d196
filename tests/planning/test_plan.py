"""Verdicts of policies as people see them: none is shown twice."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("airflow")

from airflow_config_providers.core.alter import ConfigResource, ResourceType
from airflow_config_providers.core.policy import Denial, Moment
from airflow_config_providers.dynamic.policies.policy_set import PolicyVerdict
from airflow_config_providers.planning.plan import Judgement, Plan, document, verdicts

DAG = ConfigResource(ResourceType.DAG, "flights")
TASK = ConfigResource.of_task("flights", "report")
TOO_MUCH, TOO_OLD = "'spark.executor.memory' is more than 4g.", "'spark.app.x' is old."


def denied(at: Moment, *reasons: str, policy: str = "small", is_old: bool = False) -> Judgement:
    resource = DAG if at is Moment.ALTER else TASK
    denials = tuple(Denial(one, f"{policy} denies {resource}: {one}") for one in reasons)
    return Judgement(resource, PolicyVerdict(policy, at, "denies", denials), is_old)


@pytest.mark.parametrize(
    ("of_task", "told"),
    [
        pytest.param(denied(Moment.RENDER, TOO_MUCH), [], id="the same"),
        pytest.param(denied(Moment.RENDER, TOO_OLD), [TOO_OLD], id="another reason"),
        pytest.param(denied(Moment.RENDER, TOO_MUCH, TOO_OLD), [TOO_OLD], id="another reason, too"),
        pytest.param(denied(Moment.RENDER, TOO_MUCH, policy="other"), [TOO_MUCH], id="another policy"),
    ],
)
def test_what_is_said_of_the_change_is_not_repeated_for_its_tasks(of_task: Judgement, told: list[str]):
    plan = Plan.of([], [denied(Moment.ALTER, TOO_MUCH), of_task], [])

    assert [text.partition(": ")[2] for text in plan.denials] == [TOO_MUCH, *told]
    assert [len(row["reasons"]) for row in verdicts(plan)] == [1, *([len(told)] if told else [])]


def test_a_task_that_was_denied_before_is_told():
    plan = Plan.of([], [denied(Moment.ALTER, TOO_MUCH), denied(Moment.RENDER, TOO_MUCH, is_old=True)], [])

    assert [row["verdict"] for row in verdicts(plan)] == ["denies", "denies, also without this change"]
    assert len(plan.denials) == 1


def test_a_denial_of_a_task_is_told_if_the_change_itself_is_allowed():
    plan = Plan.of([], [denied(Moment.RENDER, TOO_MUCH)], [])

    assert len(plan.denials) == len(verdicts(plan)) == 1


def warned(at: Moment, *reasons: str) -> Judgement:
    one = denied(at, *reasons)
    return replace(one, verdict=replace(one.verdict, text="warns"))


def test_a_warning_about_the_change_is_not_repeated_for_its_tasks():
    plan = Plan.of([], [warned(Moment.ALTER, TOO_MUCH), warned(Moment.RENDER, TOO_MUCH)], [])

    assert ([row["verdict"] for row in verdicts(plan)], plan.denials) == (["warns"], [])


def test_denials_come_before_warnings():
    plan = Plan.of([], [warned(Moment.ALTER, TOO_MUCH), denied(Moment.ALTER, TOO_OLD, policy="other")], [])

    assert [row["verdict"] for row in verdicts(plan)] == ["denies", "warns"]
    assert plan.summary().endswith(" Denied by 1 policy. Warned of by 1 policy.")


def test_programs_get_each_verdict():
    plan = Plan.of([], [denied(Moment.ALTER, TOO_MUCH), denied(Moment.RENDER, TOO_MUCH)], [])

    assert len(plan.judgements) == 2
    assert document(plan)["summary"]["denied"]
