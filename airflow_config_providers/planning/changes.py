"""What differs between two states of a deployment: of tasks, of their running jobs, and where only a run knows it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, TypeVar

from jinja2 import Environment, TemplateError, meta, nodes

from airflow_config_providers.airflow_compat import region_of
from airflow_config_providers.core.layers import ConfigEntry, ConfigLayer, ConfigSource, LayeredConfig
from airflow_config_providers.core.reload import RELOAD_ACTION_KEYS, ReloadAction
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.core.sensitive import HIDDEN
from airflow_config_providers.deployment.records import hex_of, reading, stored_record
from airflow_config_providers.dynamic.admin import no_notes
from airflow_config_providers.dynamic.inheritance import SOURCES
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.job.authored_job import NO_OPTIONS, JobOptions
from airflow_config_providers.job.deployed_task import Warn
from airflow_config_providers.job.records.record import RecordedValue, TaskTry, TryRecord, shown_value
from airflow_config_providers.job.template_paths import reads, undeclared_names
from airflow_config_providers.lazy import sa
from airflow_config_providers.planning.changed_files import ChangedFiles
from airflow_config_providers.planning.dag_folder import Jobs
from airflow_config_providers.planning.state import State
from airflow_config_providers.spark.catalogue import spark_definition
from airflow_config_providers.spark.policy_request import value_seen_by_policies

_Outcome = TypeVar("_Outcome")
_Layers = Sequence[ConfigLayer]

_DEFERRED: Final = "deferred"


class Kind(Enum):
    """What happens to a key of a task."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class KeyChange:
    """
    A key whose value changes. It can be the label of an argument with references, such as ``env_vars['TOKEN']``.

    :param before: its entry before the change; None if no layer set it
    :param after: its entry after the change; None if no layer sets it any longer
    """

    key: str
    before: ConfigEntry | None
    after: ConfigEntry | None

    @property
    def kind(self) -> Kind:
        """What happens to the key."""
        if self.before is None or self.after is None:
            return Kind.ADDED if self.before is None else Kind.REMOVED
        return Kind.CHANGED


@dataclass(frozen=True, slots=True)
class TaskChange:
    """
    A task whose configuration changes.

    :param before: the layers before the change; none if the task is new
    :param after: the layers after the change; none if the task is removed
    """

    task: ConfigResource
    keys: Sequence[KeyChange]
    before: Sequence[ConfigLayer] = field(repr=False)
    after: Sequence[ConfigLayer] = field(repr=False)
    is_new: bool = False
    is_removed: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """
    Compares two states.

    :param sealed: the keys whose encrypted secret is replaced, although both states show ``[hidden]``
    :param warn: is called with each note for the reader
    :param tick: is called after each task
    """

    before: State
    after: State
    sealed: Collection[str] = ()
    warn: Warn = no_notes
    tick: Callable[[], object] = lambda: None

    def changes(self, tasks: Collection[ConfigResource]) -> Iterator[TaskChange]:
        """
        Yield those of ``tasks`` whose configuration differs, in order.

        Tasks with equal layers are compared once.
        """
        compare: Callable[[_Layers, _Layers], list[KeyChange]] = once(self._compared, same=[])
        for task in sorted(tasks):
            before, after = (state.layers(task, warn=self.warn) for state in (self.before, self.after))
            keys = compare([*before, self.before.arguments(task)], [*after, self.after.arguments(task)])
            is_new, is_removed = task not in self.before.jobs, task not in self.after.jobs
            if keys or is_new or is_removed:
                yield TaskChange(task, keys, before=before, after=after, is_new=is_new, is_removed=is_removed)
            self.tick()

    def _compared(self, before: _Layers, after: _Layers) -> list[KeyChange]:
        old, new = (LayeredConfig(layers, spark_definition()) for layers in (before, after))
        keys = sorted(old.settled.keys() | new.settled.keys())
        return [KeyChange(key, _entry(old, key), _entry(new, key)) for key in keys if self._differs(key, old, new)]

    def _differs(self, key: str, old: LayeredConfig, new: LayeredConfig) -> bool:
        before, after = old.settled.get(key), new.settled.get(key)
        if before is None or after is None or not (HIDDEN in before or HIDDEN in after):
            return before != after
        if key in self.sealed and key in new.secrets:
            return True
        # As Airflow stores some: of equal values, one state can have it from there, and the other from fields.
        is_same = value_seen_by_policies(key, old) == value_seen_by_policies(key, new)
        return not (is_same or (_is_hidden(old, key) and _is_hidden(new, key)))


def _is_hidden(config: LayeredConfig, key: str) -> bool:
    """Return whether the value of a key is a plaintext secret, which can be known only as ``[hidden]``."""
    return config.describe(key).value is None or config.settled[key] == HIDDEN


def _entry(config: LayeredConfig, key: str) -> ConfigEntry | None:
    return config.describe(key) if key in config.settled else None


def mark(layers: Sequence[ConfigLayer]) -> Hashable:
    """Return what equal layers have in common; tasks with equal ones have the same changes."""
    return tuple(
        (layer.source, layer.name, tuple(layer.configs.items()), tuple(layer.origins.items())) for layer in layers
    )


def once(compare: Callable[[_Layers, _Layers], _Outcome], same: _Outcome) -> Callable[[_Layers, _Layers], _Outcome]:
    """
    Return ``compare`` for the layers of many tasks, of which few differ: it is called once for equal ones.

    :param same: the outcome if nothing differs
    """
    known: dict[Hashable, _Outcome] = {}

    def compared(old: _Layers, new: _Layers) -> _Outcome:
        marks = mark(old), mark(new)
        if marks not in known:
            known[marks] = compare(old, new) if marks[0] != marks[1] else same
        return known[marks]

    return compared


def undecided_tasks(
    tasks: Iterable[ConfigResource], before: State, after: State, files: ChangedFiles
) -> list[ConfigResource]:
    """
    Return those of ``tasks`` of which only a run knows what changes, in order.

    Such a task has a layer file that only a run chooses. Its run could choose another file, or the same one could have
    other keys, or beat what it did not beat: then, what the states show is not what changes. Otherwise, the file has
    the same part in both states.
    """
    chosen = {task: paths for task in sorted(tasks) if (paths := _chosen(task, before, after))}
    if not chosen or before.environ != after.environ:
        return list(chosen)
    differing = _differing(set[str]().union(*chosen.values()), files)
    differ = once(_differ_near_files, same=False)
    return [
        task
        for task, paths in chosen.items()
        if before.files(task) != after.files(task)
        or paths & differing
        or differ(before.layers(task, warn=no_notes), after.layers(task, warn=no_notes))
    ]


def _chosen(task: ConfigResource, before: State, after: State) -> set[str]:
    return {*before.chosen_files(task), *after.chosen_files(task)}


def _differing(paths: Collection[str], files: ChangedFiles) -> set[str]:
    """Return those of ``paths`` with which a run can have another file than before."""
    by_code = set(filter(depends_on_code, paths))
    return files.could_be(paths) | (by_code if by_code and files.have_code else set())


def _differ_near_files(old: Sequence[ConfigLayer], new: Sequence[ConfigLayer]) -> bool:
    before, after = (LayeredConfig(layers, spark_definition()) for layers in (old, new))
    keys = before.settled.keys() | after.settled.keys()
    pairs = ((_winner(key, before), _winner(key, after)) for key in keys)
    return any(one != other and min(one[0], other[0]) < ConfigSource.DAG_CONFIG for one, other in pairs)


def _winner(key: str, config: LayeredConfig) -> tuple[ConfigSource, str, str | None]:
    """Return the source and the name of the layer that wins for a key, and its value; not its line in a file."""
    layer = config.winner(key) if key in config.settled else None
    return (ConfigSource.DEFAULT_CONFIG, "", None) if layer is None else (layer.source, layer.name, layer.configs[key])


_NOT_OF_CODE: Final = frozenset(
    {
        *("var", "conn", "run_id", "ds", "ds_nodash", "ts", "ts_nodash", "ts_nodash_with_tz"),
        *("logical_date", "data_interval_start", "data_interval_end", "prev_data_interval_start_success"),
        *("prev_data_interval_end_success", "prev_start_date_success", "prev_end_date_success"),
    }
)
"""What Airflow itself tells a template, whatever the code of the DAG is."""

_OF_RUN: Final = frozenset(
    {
        *("conf", "dag_id", "run_id", "run_type", "logical_date", "data_interval_start", "data_interval_end"),
        *("run_after", "start_date", "queued_at", "triggering_user_name"),
    }
)
"""What of ``dag_run`` Airflow itself tells."""

_MACROS: Final = frozenset(
    {
        *("datetime", "timedelta", "dateutil", "time", "uuid", "random", "json", "yaml"),
        *("ds_add", "ds_format", "ds_format_locale", "datetime_diff_for_humans"),
    }
)
"""The macros of Airflow; others are those of plugins."""

_FILTERS: Final = ("ds", "ds_nodash", "ts", "ts_nodash", "ts_nodash_with_tz")
"""The filters of Airflow; others are those of Jinja, or of users."""


def depends_on_code(template: str) -> bool:
    """Return whether code of DAGs has a part in what a run makes of ``template``; also if that is not known."""
    environment = Environment()  # noqa: S701 - it renders nothing
    environment.filters.update(dict.fromkeys(_FILTERS, str))
    try:
        written = environment.parse(template)
        names = undeclared_names(written)
    except (TemplateError, RecursionError):
        return True
    if any(meta.find_referenced_templates(written)) or _has_foreign_filter(written, environment):
        return True
    return any(_is_of_code(name, keys) for name, *keys in reads(written) if name in names)


def _is_of_code(name: str, keys: list[str]) -> bool:
    """Return whether code of DAGs has a part in a name, or in what is read from it with ``keys``."""
    if name == "macros":
        return not keys or keys[0] not in _MACROS
    if name == "dag_run":
        return not keys or keys[0] not in _OF_RUN
    return name not in _NOT_OF_CODE


def _has_foreign_filter(written: nodes.Template, environment: Environment) -> bool:
    used = written.find_all((nodes.Filter, nodes.Test))
    return any(node.name not in {*environment.filters, *environment.tests} for node in used)


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
