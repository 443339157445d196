"""The command that finds what changed when a task began to fail."""

from __future__ import annotations

from functools import partial
from typing import Any

from airflow_config_providers.cli.failing import Notes, WrongArgumentsError, reporting_errors
from airflow_config_providers.cli.histories import known_history
from airflow_config_providers.cli.output import show
from airflow_config_providers.cli.target import require_here
from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.deployment.admin import DeployedLayers
from airflow_config_providers.deployment.configurations import DeployedConfigurations
from airflow_config_providers.deployment.differences import differences
from airflow_config_providers.deployment.last_changes import with_authors
from airflow_config_providers.deployment.records import RunChoice
from airflow_config_providers.deployment.rows import KeySelection, Row
from airflow_config_providers.deployment.turning_point import RunOutcome, TurningPoint, outcomes_of, turning_point
from airflow_config_providers.exceptions import UnknownResourceError


@reporting_errors
def bisect(args: Any) -> None:
    """Show what differs between the last run that succeeded and the first that failed after it."""
    require_here("bisect")
    task, notes = _task(args), Notes()
    point = _turning_point(task, args.map_index)
    _introduce(point, notes)
    found = DeployedConfigurations(notes)
    before, after = (_described(found, task, one) for one in (point.success, point.failure))
    differing = with_authors(differences(before, after), task, partial(known_history, found, notes))
    show(differing, args.output, nothing="Both runs had the same configuration. The cause is something else.")


def _task(args: Any) -> ConfigResource:
    if not (args.dag and args.task):
        raise WrongArgumentsError("No task given. Add --dag DAG_ID --task TASK_ID.")
    return ConfigResource.of_task(args.dag, args.task)


def _turning_point(task: ConfigResource, map_index: int | None) -> TurningPoint:
    outcomes = outcomes_of(task, map_index)
    if not outcomes:
        DeployedLayers(Notes())(task)  # refuses a task that does not exist
        instance = "" if map_index is None else f" in instance {map_index}"
        raise UnknownResourceError(f"No run of {task} has succeeded or failed{instance}.")
    return turning_point(task, outcomes)


def _introduce(point: TurningPoint, notes: Notes) -> None:
    notes(f"The last success was in {point.success}. The first failure after it was in {point.failure}.")
    if point.since:
        notes(f"The task has succeeded since, in {point.since}.")


def _described(found: DeployedConfigurations, task: ConfigResource, one: RunOutcome) -> list[Row]:
    return found.describe_run(task, RunChoice(one.run_id, None, one.map_index), KeySelection())
