"""Makes the plan of a request: reads both states, compares them, asks the policies, and says what does not change."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from typing import Final

from airflow_config_providers import settings
from airflow_config_providers.core.alter import AlterConfigOp
from airflow_config_providers.core.layers import ConfigLayer, ConfigSynonym, LayeredConfig
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.core.text import counted, grouped, nearest, one_line, printable
from airflow_config_providers.exceptions import ConfigException, UnknownResourceError
from airflow_config_providers.job.deployed_task import Warn
from airflow_config_providers.lint.paths import bundles_elsewhere, dags_folder
from airflow_config_providers.planning.changed_files import ChangedFiles, kept_by_airflow
from airflow_config_providers.planning.changes import Comparison, TaskChange, running_jobs, undecided_tasks
from airflow_config_providers.planning.dag_folder import (
    Checkout,
    DagFolder,
    Jobs,
    checked_out,
    stored_dag_ids,
    stored_jobs,
)
from airflow_config_providers.planning.plan import (
    Judgement,
    Plan,
    PlannedAlter,
    Policies,
    judgements_of_alter,
    judgements_of_other_task,
    judgements_of_task,
    named,
)
from airflow_config_providers.planning.state import (
    State,
    file_reader,
    refuse_broken_files,
    stored_dynamic_layers,
    unread,
)
from airflow_config_providers.spark.catalogue import spark_definition

_NOT_CONFIGURED: Final = (
    "Correct the name, or let this package configure its operators: [config_providers] apply_to does so without a "
    "change of the DAG. If you have just changed the DAG, Airflow has not read the file yet: wait, or run airflow dags "
    "reserialize."
)

StepProgress = Callable[[int, str], AbstractContextManager[Callable[[], None]]]
"""Shows how many of so many items, which have this name, are done."""


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """
    The states that a user wants to compare. The first is that of the deployment now, unless a revision is given.

    :param resource: the resource that changes or, without ``operations``, to which the plan is limited; None for all
    :param operations: changes of its dynamic configuration
    :param replaced: path of a layer file -> the file that is read in place of it afterwards
    :param environ: the environment variables afterwards; None for those of this process
    :param before: the revision of the DAGs folder to begin with; empty for the DAGs that Airflow has stored
    :param after: the revision to end with; empty for the files in the DAGs folder, or, if ``before`` is empty too, for
        the DAGs that Airflow has stored
    :param seconds: the longest time for importing one DAG file
    """

    resource: ConfigResource | None = None
    operations: Sequence[AlterConfigOp] = ()
    replaced: Mapping[str, str] = field(default_factory=dict)
    environ: Mapping[str, str] | None = field(default=None, repr=False)
    before: str = ""
    after: str = ""
    seconds: float = 60.0

    @property
    def reads_files(self) -> bool:
        """Whether DAG files are imported."""
        return bool(self.before or self.after)


@dataclass(frozen=True, slots=True)
class PlanMaker:
    """
    Makes plans.

    :param policies: the policies to ask; if they change, tasks whose configuration stays the same are judged, too
    :param warn: is called with each note for the reader
    :param progress: shows progress
    """

    policies: Policies
    warn: Warn
    progress: StepProgress

    def plan(self, request: PlanRequest) -> Plan:
        """
        Return what changes. Nothing is changed.

        :raises ConfigProvidersError: a state cannot be read, or ``alter`` would refuse the operations
        """
        _require_first_revision(request)
        altered = self._altered(request)
        with ExitStack() as stack:
            first, second = (_checkout(revision, stack) for revision in (request.before, request.after))
            before, after = self._states(request, altered, first, second)
            for path in unread(request.replaced, after.jobs):
                self.warn(_unread(path, after.tasks_that_can_choose(path)))
            changes = self._changes(request, before, after, () if altered is None else altered.keys)
            tasks = _selected(request.resource, before.jobs.keys() | after.jobs.keys())
            files = ChangedFiles(first, second, request.replaced, not_of_state=kept_by_airflow)
            undecided = undecided_tasks(tasks, before, after, files)
            if altered is not None and settings.dynamic_enabled():
                self._explain(request, altered, changes, after, undecided)
            if request.replaced and not changes:
                self._explain_replaced(request, before, after)
            judgements = [*self._judgements(changes, before, after), *self._of_others(tasks, changes, before, after)]
        if altered is not None:
            judgements = [*judgements_of_alter(self.policies.after, altered), *judgements]
        return Plan.of(changes, judgements, running_jobs(changes, before.jobs, warn=self.warn), undecided)

    def _altered(self, request: PlanRequest) -> PlannedAlter | None:
        if request.resource is None or not request.operations:
            return None
        return PlannedAlter.checked(request.resource, request.operations, warn=self.warn)

    def _states(
        self, request: PlanRequest, altered: PlannedAlter | None, first: Checkout | None, second: Checkout | None
    ) -> tuple[State, State]:
        before = self._first_jobs(request, first)
        after = self._folder_jobs(DagFolder(second, request.seconds)) if request.reads_files else before
        changed = {} if altered is None else {altered.resource: altered.layer}
        environ = os.environ if request.environ is None else request.environ
        state = State(after, stored_dynamic_layers(changed), file_reader(second, request.replaced), environ)
        if request.reads_files:
            refuse_broken_files(state, first, second)
        return State(before, stored_dynamic_layers({}), file_reader(first, {}), os.environ), state

    def _first_jobs(self, request: PlanRequest, checkout: Checkout | None) -> Jobs:
        if checkout is not None:
            return self._folder_jobs(DagFolder(checkout, request.seconds, is_lenient=True))
        wanted = request.resource.dag_id if request.resource else ""
        if wanted and not request.reads_files:
            ids: Sequence[str] = [wanted]
        else:  # of a DAG that only the last state has, Airflow has stored nothing
            ids = [one for one in stored_dag_ids() if wanted in {"", one}]
        with self.progress(len(ids), "DAGs") as tick:
            return stored_jobs(ids, warn=self.warn, tick=tick)

    def _folder_jobs(self, folder: DagFolder) -> Jobs:
        return folder.jobs(warn=self.warn, progress=lambda total: self.progress(total, "DAG files"))

    def _changes(self, request: PlanRequest, before: State, after: State, sealed: Collection[str]) -> list[TaskChange]:
        tasks = _selected(request.resource, before.jobs.keys() | after.jobs.keys())
        with self.progress(len(tasks), "tasks") as tick:
            return list(Comparison(before, after, sealed, self.warn, tick).changes(tasks))

    def _explain(
        self,
        request: PlanRequest,
        altered: PlannedAlter,
        changes: Sequence[TaskChange],
        after: State,
        undecided: Collection[ConfigResource],
    ) -> None:
        """Note why keys of ``altered`` change in no task; nothing of the ``undecided`` tasks."""
        changed = {key.key for change in changes for key in change.keys}
        same = {operation.name for operation in request.operations} - changed
        tasks = sorted(set(_selected(request.resource, after.jobs.keys())).difference(undecided)) if same else ()
        if undecided and not tasks:
            same -= set(altered.keys)
        layers = {task: after.layers(task, warn=self.warn) for task in tasks}
        for reason in reasons(altered, same, layers):
            self.warn(reason)

    def _explain_replaced(self, request: PlanRequest, before: State, after: State) -> None:
        """Note why the files that are replaced change no job; a file that no job names has a note already."""
        for path in sorted(request.replaced.keys() - unread(request.replaced, after.jobs)):
            old, new = (state.read_file(path, lambda _: None) for state in (before, after))
            is_same = old is not None and new is not None and old.configs == new.configs
            self.warn(_changes_nothing(path, request.replaced[path], is_same=is_same))

    def _judgements(self, changes: Sequence[TaskChange], before: State, after: State) -> Iterator[Judgement]:
        if not self.policies.after:
            return
        with self.progress(len(changes), "tasks checked with policies") as tick:
            for change in changes:
                yield from judgements_of_task(self.policies, change, before, after)
                tick()

    def _of_others(
        self, tasks: Iterable[ConfigResource], changes: Sequence[TaskChange], before: State, after: State
    ) -> Iterator[Judgement]:
        """Yield what the policies say of those of ``tasks`` that do not change, if the policies do."""
        if not self.policies.change:
            return
        others = sorted(set(tasks).difference(change.task for change in changes))
        with self.progress(len(others), "other tasks checked with policies") as tick:
            for task in others:
                old, new = (state.layers(task, warn=self.warn) for state in (before, after))
                yield from judgements_of_other_task(self.policies, TaskChange(task, (), old, new), before, after)
                tick()


def _unread(path: str, choosing: Sequence[ConfigResource]) -> str:
    """Return a note about a file that no job names; ``choosing`` are the tasks that can have it in a run."""
    if not choosing:
        return f"No job names the layer file '{printable(path)}'. Write its path as the jobs have it."
    tasks = f"{counted(len(choosing), 'task')} can have it through a template: {named(choosing)}."
    return f"No job names the layer file '{printable(path)}'; {tasks}"


def _changes_nothing(path: str, other: str, *, is_same: bool) -> str:
    """Return a note about a file that changes no job if it is read in place of another."""
    if is_same:
        return f"'{printable(other)}' sets the same keys to the same values as '{printable(path)}'."
    return (
        f"'{printable(other)}' in place of '{printable(path)}' changes no job whose layers are known: for each key "
        f"that differs, another layer wins or has the same value. describe --why-not KEY says which layer wins."
    )


def _require_first_revision(request: PlanRequest) -> None:
    """
    Make sure that a revision of the DAGs folder is not compared with stored DAGs that are from elsewhere.

    :raises ConfigException: the deployment has other bundles of DAG files
    """
    if request.after and not request.before and (bundles := bundles_elsewhere(dags_folder())):
        raise ConfigException(
            f"--to alone compares with the DAGs that Airflow has stored, and those of "
            f"{', '.join(map(printable, bundles))} are not in [core] dags_folder. Name the first revision with --from."
        )


def _checkout(revision: str, stack: ExitStack) -> Checkout | None:
    return stack.enter_context(checked_out(revision, folder=dags_folder())) if revision else None


def _selected(resource: ConfigResource | None, tasks: Collection[ConfigResource]) -> Collection[ConfigResource]:
    """
    Return those of ``tasks`` that a resource configures.

    :raises UnknownResourceError: there is no such task or DAG
    """
    if resource is None or not resource.dag_id:
        return tasks
    found = {task for task in tasks if task.dag_id == resource.dag_id and resource.task_id in ("", task.task_id)}
    if not found:
        names = {str(task) if resource.task_id else task.dag_id for task in tasks}
        hint = nearest(str(resource) if resource.task_id else resource.dag_id, names) or "."
        raise UnknownResourceError(f"There is no configured job in {printable(str(resource))}{hint} {_NOT_CONFIGURED}")
    return found


def reasons(
    altered: PlannedAlter, keys: Iterable[str], tasks: Mapping[ConfigResource, Sequence[ConfigLayer]]
) -> Iterator[str]:
    """
    Yield a sentence, without values, for each of ``keys`` and each reason why it stays the same.

    :param keys: keys that the change names, and that change in none of ``tasks``
    """
    layered = {task: LayeredConfig(layers, spark_definition()) for task, layers in tasks.items()}
    for key in sorted(set(keys)):
        shown = f"'{printable(key)}'"
        if key not in altered.keys:
            has = "has this value already" if key in altered.layer.configs else "does not set it"
            yield f"{shown} does not change: {altered.resource} {has}."
        elif not layered:
            yield f"{shown} does not change in any job: this package configures none."
        else:
            for reason, affected in grouped(
                (_reason(altered, key, config), task) for task, config in layered.items()
            ).items():
                yield f"{shown} does not change in {named(affected)}: {reason}"


def _reason(altered: PlannedAlter, key: str, config: LayeredConfig) -> str:
    synonyms = config.describe(key).synonyms if key in config.entries() else ()
    below = [one for one in synonyms if one.source < altered.layer.source]
    if not synonyms:
        return "it does not get this configuration."
    winner = synonyms[0]
    if winner.source > altered.layer.source or winner.name != key:
        name = "" if winner.name == key else f" under the name '{printable(winner.name)}'"
        return f"{_place(winner)} wins{name}."
    if not below:
        return "it has this value already."
    if None in (winner.value, below[0].value):
        return f"{_place(below[0])} has it too, and the values are hidden, so they were not compared."
    return f"{_place(below[0])} has the same value."


def _place(synonym: ConfigSynonym) -> str:
    return f"{synonym.source.name}, {one_line(synonym.origin)},"
