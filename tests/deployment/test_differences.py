"""Who changed a key that differs, and when."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.deployment.differences import RunOutcome, turning_point, with_authors
from airflow_config_providers.exceptions import ConfigException

TASK = ConfigResource.of_task("flights", "report")
CONF = "DAG_CONFIG, conf"


def of_dag(version: int) -> str:
    return f"DYNAMIC_DAG_CONFIG, dynamic configuration of DAG 'flights', version {version}"


def of_task(version: int) -> str:
    return f"DYNAMIC_TASK_CONFIG, dynamic configuration of task 'report' of DAG 'flights', version {version}"


class Histories:
    """``histories(resource)`` returns the changes of the key ``spark.a``, and notes that it is called."""

    def __init__(self, *, removed: int = 0, **changes: dict[int, str]) -> None:
        self._changes = changes
        self._removed = removed
        self.calls: list[ConfigResource] = []

    def __call__(self, resource: ConfigResource) -> list[dict[str, Any]]:
        self.calls.append(resource)
        found = self._changes.get(resource.type.name, {})
        return [
            {
                "version": one,
                "at": f"day {one}",
                "by": by,
                "key": "spark.a",
                "is": None if one == self._removed else "x",
            }
            for one, by in found.items()
        ]


def author(before: str | None, after: str | None, histories: Histories) -> tuple[object, object]:
    row = {"key": "spark.a", "before_layer": before, "after_layer": after}
    (found,) = with_authors([row], TASK, histories)
    return found["changed_by"], found["changed_at"]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(None, of_dag(3), ("ben", "day 3"), id="added"),
        pytest.param(CONF, of_dag(3), ("ben", "day 3"), id="beats-the-dag"),
        pytest.param(of_dag(1), of_dag(3), ("ben", "day 3"), id="changed"),
        pytest.param(of_dag(1), of_dag(4), ("ben", "day 3"), id="another-key-was-changed-later"),
        pytest.param(of_dag(3), of_dag(4), (None, None), id="nobody-changed-it-between"),
        pytest.param(CONF, CONF, (None, None), id="a-new-version-of-the-dag"),
        pytest.param(CONF, "LATER_CONFIG, x, version 3", (None, None), id="a-layer-of-a-later-version"),
        pytest.param(CONF, "DAG_CONFIG, my conf, version 3", (None, None), id="a-name-that-looks-like-a-version"),
    ],
)
def test_the_change_that_caused_a_difference_is_named(before, after, expected):
    histories = Histories(DAG={1: "ann", 3: "ben"}, TASK={1: "ann", 5: "cleo"})

    assert author(before, after, histories) == expected


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(None, id="nothing-wins"),
        pytest.param(CONF, id="the-dag-wins"),
        pytest.param(of_dag(1), id="an-older-value-of-the-dag-wins"),
    ],
)
def test_whoever_removed_a_value_is_named(after: str | None):
    histories = Histories(DAG={1: "ann"}, TASK={1: "ann", 3: "ben", 5: "cleo", 7: "dan"}, removed=5)

    assert author(of_task(1), after, histories) == ("cleo", "day 5")


def test_a_change_that_is_no_longer_recorded_has_no_author():
    assert author(None, of_dag(3), Histories(DAG={9: "ben"})) == (None, None)


def test_nobody_is_named_for_the_loss_of_a_document():
    rows = [{"version": 4, "at": "", "by": "", "event": "lost", "key": "spark.a", "is": None}]
    row = {"key": "spark.a", "before_layer": of_dag(3), "after_layer": CONF}

    (found,) = with_authors([row], TASK, lambda resource: rows)

    assert (found["changed_by"], found["changed_at"]) == (None, None)


def test_changes_of_another_key_are_ignored():
    row = {"key": "spark.b", "before_layer": None, "after_layer": of_dag(3)}

    assert with_authors([row], TASK, Histories(DAG={3: "ben"}))[0]["changed_by"] is None


def test_each_history_is_read_once_and_only_if_it_has_a_part():
    histories = Histories(DAG={3: "ben"})
    rows = [{"key": f"spark.{n}", "before_layer": CONF, "after_layer": of_dag(3)} for n in range(9)]
    with_authors([*rows, {"key": "spark.c", "before_layer": CONF, "after_layer": None}], TASK, histories)

    assert [one.type.name for one in histories.calls] == ["DAG"]


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
