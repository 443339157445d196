"""The command that finds what changed when a task began to fail."""

from __future__ import annotations

from functools import partial
from typing import Any

from airflow_config_providers.cli.failing import Notes, WrongArgumentsError, reporting_errors
from airflow_config_providers.cli.output import show
from airflow_config_providers.cli.target import known_history, require_here
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.core.text import one_line
from airflow_config_providers.deployment.admin import DeployedLayers
from airflow_config_providers.deployment.configurations import DeployedConfigurations
from airflow_config_providers.deployment.differences import (
    RunOutcome,
    TurningPoint,
    differences,
    outcomes_of,
    turning_point,
    with_authors,
)
from airflow_config_providers.deployment.record_rows import about, of_record
from airflow_config_providers.deployment.records import RunChoice, record_of
from airflow_config_providers.deployment.rows import KeySelection, Row
from airflow_config_providers.exceptions import UnknownResourceError
from airflow_config_providers.job.records.record import TryRecord


@reporting_errors
def bisect(args: Any) -> None:
    """Show what differs between the last run that succeeded and the first that failed after it."""
    require_here("bisect")
    task, notes = _task(args), Notes()
    point = _turning_point(task, args.map_index)
    _introduce(point, notes)
    before, after = (_record(task, one, notes) for one in (point.success, point.failure))
    history = partial(known_history, DeployedConfigurations(notes), notes)
    show(with_authors(_differences(before, after), task, history), args.output, nothing=_without_differences(after))


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


def _record(task: ConfigResource, one: RunOutcome, notes: Notes) -> TryRecord:
    record = record_of(task, RunChoice(one.run_id, None, one.map_index))
    for sentence in about(record):
        notes(sentence)
    return record


def _differences(before: TryRecord, after: TryRecord) -> list[Row]:
    if after.problems and not after.configs:  # its layers could not be settled
        return []
    return differences(*(of_record(record, KeySelection()) for record in (before, after)))


def _without_differences(failure: TryRecord) -> str:
    if not failure.problems:
        return "Both runs had the same configuration. The cause is something else."
    same = "Both runs had the same configuration, but the" if failure.configs else "The"
    return f"{same} failed run was refused, and submitted no job: {' '.join(map(one_line, failure.problems))}"
