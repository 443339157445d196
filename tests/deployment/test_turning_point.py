"""Where a task began to fail."""

from __future__ import annotations

import pytest

from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.deployment.turning_point import RunOutcome, turning_point
from airflow_config_providers.exceptions import ConfigException

TASK = ConfigResource.of_task("flights", "report")


def outcomes(signs: str) -> list[RunOutcome]:
    """Return an outcome for each sign, the last run first, such as ``--+`` for two failures after a success."""
    return [RunOutcome(f"run {number}", sign == "+", f"day {number}") for number, sign in enumerate(signs)]


@pytest.mark.parametrize(
    ("signs", "success", "failure"),
    [
        pytest.param("-+", 1, 0, id="the-last-run"),
        pytest.param("---+", 3, 2, id="the-first-of-several-failures"),
        pytest.param("-+-+", 1, 0, id="the-last-of-several-turns"),
        pytest.param("++--+", 4, 3, id="the-task-has-recovered"),
    ],
)
def test_the_last_success_and_the_first_failure_are_found(signs: str, success: int, failure: int):
    found = turning_point(TASK, outcomes(signs))

    assert (found.success.run_id, found.failure.run_id) == (f"run {success}", f"run {failure}")


def test_a_task_that_has_succeeded_since_says_so():
    assert turning_point(TASK, outcomes("+-+")).since == outcomes("+")[0]
    assert turning_point(TASK, outcomes("-+")).since is None


@pytest.mark.parametrize(
    ("signs", "problem"),
    [
        pytest.param("+", "has not failed in the last run.", id="one-success"),
        pytest.param("+++", "has not failed in the last 3 runs.", id="no-failure"),
        pytest.param("--", "has not succeeded before run 'run 1'", id="no-success"),
        pytest.param("++--", "has not succeeded before run 'run 3'", id="no-success-before"),
    ],
)
def test_without_both_there_is_nothing_to_compare(signs: str, problem: str):
    with pytest.raises(ConfigException, match=problem):
        turning_point(TASK, outcomes(signs))
