"""The run in which a task began to fail, by the task instances of Airflow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import dropwhile, takewhile
from typing import Any, Final

from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.core.text import printable
from airflow_config_providers.deployment.records import reading, require_map_index
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.lazy import sa

_SUCCESS: Final = "success"
_ENDED: Final = (_SUCCESS, "failed")

_MOST: Final = 1000
"""How many of the last instances are looked at."""


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """
    How a task ended in a run.

    :param at: when its last try began, in ISO 8601
    """

    run_id: str
    is_success: bool
    at: str
    map_index: int = -1

    def __str__(self) -> str:
        return f"run '{printable(self.run_id)}', begun at {self.at}"


@dataclass(frozen=True, slots=True)
class TurningPoint:
    """
    Two runs of a task, between which it began to fail.

    :param success: the last run that succeeded before
    :param failure: the first one that failed after it
    :param since: the last run, if the task has succeeded since
    """

    success: RunOutcome
    failure: RunOutcome
    since: RunOutcome | None = None


def turning_point(task: ConfigResource, outcomes: Sequence[RunOutcome]) -> TurningPoint:
    """
    Return where ``task`` began to fail the last time.

    :param outcomes: how it ended, the last run first
    :raises ConfigException: it has not failed, or has not succeeded before
    """
    failed = list(dropwhile(lambda one: one.is_success, outcomes))
    if not failed:
        ended = "run" if len(outcomes) == 1 else f"{len(outcomes)} runs"
        raise ConfigException(
            f"{_capital(task)} has not failed in the last {ended}. Compare runs with describe --diff."
        )
    failures = list(takewhile(lambda one: not one.is_success, failed))
    if len(failures) == len(failed):
        raise ConfigException(
            f"{_capital(task)} has not succeeded before {failures[-1]}, as far as Airflow still has its runs. There is "
            f"nothing to compare with."
        )
    since = outcomes[0] if outcomes[0].is_success else None
    return TurningPoint(failed[len(failures)], failures[-1], since)


def outcomes_of(task: ConfigResource, map_index: int | None = None) -> list[RunOutcome]:
    """
    Return how ``task`` ended in its runs, ordered by when it ran, the last one first.

    :param map_index: the instance of a mapped task
    :raises UnknownResourceError: Airflow's database cannot have such an instance
    :raises ConfigException: the task is mapped, and ``map_index`` is None
    :raises ProviderUnavailableError: the database is unavailable
    """
    require_map_index(map_index)
    found = reading(lambda session: _read(session, task, map_index))
    if len({one.map_index for one in found}) > 1:
        raise ConfigException(f"{_capital(task)} is mapped: its instances end differently. Add --map-index.")
    return found


def _read(session: Any, task: ConfigResource, map_index: int | None) -> list[RunOutcome]:
    from airflow.models.taskinstance import TaskInstance  # noqa: PLC0415 - heavy

    query = sa.select(TaskInstance.run_id, TaskInstance.state, TaskInstance.start_date, TaskInstance.map_index).where(
        TaskInstance.dag_id == task.dag_id,
        TaskInstance.task_id == task.task_id,
        TaskInstance.state.in_(_ENDED),
        TaskInstance.start_date.is_not(None),  # an instance whose state a person set has not run
    )
    if map_index is not None:
        query = query.where(TaskInstance.map_index == map_index)
    newest = query.order_by(TaskInstance.start_date.desc()).limit(_MOST)
    rows = session.execute(newest).all()
    return [RunOutcome(run_id, state == _SUCCESS, start.isoformat(), index) for run_id, state, start, index in rows]


def _capital(task: ConfigResource) -> str:
    name = str(task)
    return f"{name[:1].upper()}{name[1:]}"
