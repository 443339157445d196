"""The running jobs of tasks that change, and what becomes of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from airflow_config_providers.airflow_compat import region_of
from airflow_config_providers.core.layers import LayeredConfig
from airflow_config_providers.core.reload import RELOAD_ACTION_KEYS, ReloadAction
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.deployment.records import hex_of, reading, stored_record
from airflow_config_providers.dynamic.inheritance import SOURCES
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.job.authored_job import NO_OPTIONS, JobOptions
from airflow_config_providers.job.deployed_task import Warn
from airflow_config_providers.job.records.record import RecordedValue, TaskTry, TryRecord, shown_value
from airflow_config_providers.lazy import sa
from airflow_config_providers.planning.changes import KeyChange, TaskChange
from airflow_config_providers.planning.dag_folder import Jobs

_DEFERRED: Final = "deferred"


@dataclass(frozen=True, slots=True)
class RunningJob:
    """
    A running try of a task that changes.

    :param state: Airflow's state of the try: ``running`` or ``deferred``
    :param restarts: whether the change restarts the job, if its operator can do that
    :param waiting: the keys that the job does not get before the next submit
    """

    task_try: TaskTry
    state: str
    restarts: bool
    waiting: tuple[str, ...]

    @property
    def task(self) -> ConfigResource:
        """The task that has the job."""
        return ConfigResource.of_task(self.task_try.dag_id, self.task_try.task_id)


def running_jobs(changes: Iterable[TaskChange], jobs: Jobs, *, warn: Warn) -> list[RunningJob]:
    """
    Return the running jobs of the tasks in ``changes``.

    :param jobs: the deployed jobs
    :param warn: is called with what cannot be known
    :raises ProviderUnavailableError: the database is unavailable
    """
    by_task = {change.task: change for change in changes}
    return reading(lambda session: _running(session, by_task, jobs, warn)) if by_task else []


def _running(session: Any, changes: Mapping[ConfigResource, TaskChange], jobs: Jobs, warn: Warn) -> list[RunningJob]:
    found = []
    for one, state in _tries(session):
        task = ConfigResource.of_task(one.dag_id, one.task_id)
        if task in changes:
            options = jobs[task].options if task in jobs else NO_OPTIONS
            found.append(
                _running_job(changes[task], one, state=state, options=options, record=_record(session, one, warn))
            )
    return found


def _tries(session: Any) -> list[tuple[TaskTry, str]]:
    from airflow.models.taskinstance import TaskInstance  # noqa: PLC0415 - heavy

    names = ("dag_id", "task_id", "run_id", "map_index", "try_number", "state")
    columns = [getattr(TaskInstance, name) for name in names]
    query = sa.select(*columns, region_of(TaskInstance)).where(TaskInstance.state.in_(["running", _DEFERRED]))
    return [
        (TaskTry(dag, task, run, index, number, hex_of(region)), str(state))
        for dag, task, run, index, number, state, region in session.execute(query.order_by(*columns[:4])).all()
    ]


def _record(session: Any, one: TaskTry, warn: Warn) -> TryRecord | None:
    try:
        return stored_record(session, one)
    except ConfigException as error:  # it is kept elsewhere
        warn(f"What running jobs have is not known. {' '.join(error.problems)}")
        return None


def _running_job(
    change: TaskChange, one: TaskTry, *, state: str, options: JobOptions, record: TryRecord | None
) -> RunningJob:
    configs = {} if record is None else record.configs
    is_dynamic = any(map(_is_dynamic, change.keys))
    is_watched = state != _DEFERRED and _restarts(options, _actions(configs))
    restarts = is_dynamic and is_watched and _restarts(options, _actions_after(change))
    at_once = [key for key in change.keys if key.key in RELOAD_ACTION_KEYS and _is_dynamic(key)]
    late = (key for key in change.keys if not (_has(configs, key) or (is_watched and key in at_once)))
    return RunningJob(one, state, restarts, () if restarts else tuple(key.key for key in late))


def _is_dynamic(change: KeyChange) -> bool:
    return any(entry is not None and entry.source in SOURCES.values() for entry in (change.before, change.after))


def _actions(configs: Mapping[str, Sequence[RecordedValue]]) -> dict[str, str]:
    return {key: configs[key][0].value or "" for key in RELOAD_ACTION_KEYS if key in configs}


def _actions_after(change: TaskChange) -> dict[str, str]:
    settled = LayeredConfig(change.after).settled
    return {key: settled[key] for key in RELOAD_ACTION_KEYS if key in settled}


def _restarts(options: JobOptions, actions: Mapping[str, str]) -> bool:
    """Return whether a job with these ``actions`` restarts, if its operator can do that."""
    try:
        return options.when_secrets_change(ReloadAction.of(actions), in_connection=lambda: None) is ReloadAction.RESTART
    except ConfigException:  # no run accepts it
        return False


def _has(configs: Mapping[str, Sequence[RecordedValue]], change: KeyChange) -> bool:
    """Return whether the job has the new value already; a plaintext secret cannot be compared."""
    if change.after is None:
        return change.key not in configs
    had, value = configs.get(change.key), change.after.value
    return had is not None and value is not None and had[0].value == shown_value(value)
