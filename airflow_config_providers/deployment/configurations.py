"""The operations on the configuration of a deployment, in the database that this process uses."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final

from airflow_config_providers import settings
from airflow_config_providers.core.alter import AlterConfigOp, OpType
from airflow_config_providers.core.layers import ConfigEntry, ConfigSource, ConfigSynonym
from airflow_config_providers.core.resource import ConfigResource, ResourceType
from airflow_config_providers.core.text import counted, first_of, nearest, printable
from airflow_config_providers.core.variable import scan
from airflow_config_providers.deployment import record_rows, records, rows
from airflow_config_providers.deployment.admin import Caller, DeployedLayers, admin, altering
from airflow_config_providers.deployment.objections import have_other_keys, pass_master, refuse_keys, take_any_key
from airflow_config_providers.deployment.records import RunChoice
from airflow_config_providers.deployment.rows import (
    HINTS,
    NOT_READ_HERE,
    KeySelection,
    Row,
    key_columns,
    misfit_reasons,
    shown,
    with_chosen_files,
)
from airflow_config_providers.deployment.why_not import Reading, nothing_refused, refusals, unread_sources, why_not
from airflow_config_providers.dynamic.admin import ConfigAdmin, no_notes
from airflow_config_providers.dynamic.alterer import AlterConfigResult
from airflow_config_providers.exceptions import (
    ConfigException,
    ConfigProvidersError,
    PolicyViolation,
    UnknownResourceError,
)
from airflow_config_providers.job.deployed_task import Warn
from airflow_config_providers.job.job_layers import without_effect
from airflow_config_providers.job.records.record import TryRecord
from airflow_config_providers.spark.catalogue import MASTER
from airflow_config_providers.spark.known_keys import find_in

_log: Final = logging.getLogger(__name__)

_NOT_WRITTEN: Final = frozenset({ConfigSource.DEFAULT_CONFIG, ConfigSource.ENVIRONMENT_CONFIG})
"""The sources in which the name of a key is never written."""


_NO_RUNS: Final = (
    "What the last job had is not shown: you do not have permission to read the task instances of the DAG."
)


Entries = Mapping[str, ConfigEntry]


class DeployedConfigurations:
    """
    Describes and alters the configuration of the deployment, its DAGs and its tasks, in the database. Not thread-safe.

    :param warn: is called with each note for the reader
    :param caller: the user who asks; None for the user who runs this command
    :raises ConfigException: the request is wrong; lists all problems
    :raises PolicyViolation: a policy denies the change
    :raises ForbiddenError: the user lacks the permission
    :raises ProviderUnavailableError: the database is unavailable now
    """

    def __init__(self, warn: Warn, caller: Caller | None = None) -> None:
        self._warn = warn
        self._caller = caller
        self._reader = caller or Caller()  # whose name is not needed, and takes a moment to find
        self._layers = DeployedLayers(no_notes, self._reader)  # which reads each DAG once

    def describe(self, resource: ConfigResource, selection: KeySelection) -> list[Row]:
        """Return the selected keys, each with its synonyms; of a task, also with what its last job had."""
        one = admin(self._warn, caller=self._caller)
        (entries,) = one.describe_configs(
            [resource], include_synonyms=True, include_defaults=selection.includes_defaults
        ).values()
        tasks = self._task_entries(resource) if selection.keys and resource.type is ResourceType.DAG else {}
        found = selection.of(entries, {key for had in tasks.values() for key in selection.keys if had and key in had})
        for doubt in (*self._doubts(resource, found), *self._misfits(resource, found)):
            self._warn(doubt)
        for note in values_of_tasks(selection.keys, entries, tasks):
            self._warn(note)
        described = rows.described(found)
        if selection.notes:
            described = [{**row, **key_columns(row["key"], row["value"])} for row in described]
        described = with_chosen_files(described, lambda: self._files(resource, has_job=True)[0])
        return self._with_applied(resource, described, selection) if resource.task_id else described

    def describe_run(self, task: ConfigResource, choice: RunChoice, selection: KeySelection) -> list[Row]:
        """Return the selected keys that one try had, each with its synonyms."""
        record = records.record_of(task, choice)
        for sentence in record_rows.about(record):
            self._warn(sentence)
        return record_rows.of_record(record, selection)

    def why_not(
        self, resource: ConfigResource, asked: str, choice: RunChoice | None = None, *, dry_run: bool = True
    ) -> list[Row]:
        """
        Return why a setting that someone wrote does not apply, or that it applies.

        :param asked: ``KEY=VALUE``, a key, a path of a file, or the name of a layer
        :param choice: the try of a task that is asked about; None for what settles now
        :param dry_run: whether the policies judge a value that no layer has; only for callers who may make the change
        """
        if choice:
            had = self.describe_run(resource, choice, KeySelection())
            return why_not(asked, had, Reading(unknown_keys=settings.unknown_keys()))
        judge = partial(self._refusals, resource) if dry_run else nothing_refused
        return why_not(asked, self.describe(resource, KeySelection()), self._reading(resource, judge))

    def _reading(self, resource: ConfigResource, judge: Callable[[str, str], Sequence[str]]) -> Reading:
        jobs = self._layers.jobs(resource)
        files, no_job = self._files(resource, has_job=bool(jobs) or not resource.task_id)
        return Reading(
            unread_sources(no_job),
            files,
            has_unopened=self._layers.unread_files(resource) == NOT_READ_HERE,
            environ=self._reader.environ,
            unknown_keys=settings.unknown_keys(),
            takes_any_key=take_any_key(jobs),
            refusals=judge,
        )

    def _refusals(self, resource: ConfigResource, key: str, value: str) -> Sequence[str]:
        if scan(value):
            self._warn(
                "The reference is checked against the connection that defines the providers. This takes as long as a "
                "secrets backend needs to answer."
            )
        return refusals(self.alter, resource, key, value)

    def _files(self, resource: ConfigResource, *, has_job: bool) -> tuple[Sequence[str], str]:
        """Return the paths of the files that are layers, and why no job gets any layer; empty if there is a job."""
        try:
            files = self._layers.files(resource)
        except UnknownResourceError as error:  # what is stored for it can still be described
            return (), " ".join(error.problems)
        return files, "" if has_job else f"This package does not configure the operator of {resource}."

    def _with_applied(self, task: ConfigResource, described: list[Row], selection: KeySelection) -> list[Row]:
        """Return the rows with what the last job of ``task`` had; unchanged if there is no record of one to show."""
        if not self._reader.may_see_runs():
            self._warn(_NO_RUNS)
            return described
        try:
            record = records.last_submitted(task)
        except ConfigException as error:  # it is kept elsewhere
            self._warn(f"What the last job had is not shown. {' '.join(error.problems)}")
            return described
        if record is None:
            return described
        is_whole = not (selection.keys or selection.first)
        if is_whole and (gone := self._no_longer_set(task, described, record)):
            named = first_of(gone, most=HINTS)
            self._warn(f"The last job had these keys, which the next one will not have: {named}.")
        unread, dag_file = partial(self._layers.unread_files, task), self._layers.dag_file(task)
        return record_rows.with_applied(described, record, unread, dag_file=dag_file)

    def alter(
        self,
        resource: ConfigResource,
        operations: Sequence[AlterConfigOp],
        *,
        validate_only: bool = False,
        if_version: int | None = None,
    ) -> list[Row]:
        """Change keys, and return what applies now."""
        expected = {} if if_version is None else {resource: if_version}
        with self._altering(validate_only=validate_only) as one:
            done = one.incremental_alter_configs({resource: operations}, validate_only, if_version=expected)
        found = done[resource]
        again = _read_again(operations, found, validate_only=validate_only)
        for note in (*_not_set(operations, found), *_not_in_list(found), *again):
            self._warn(note)
        return self._changed(resource, found)

    def history(self, resource: ConfigResource) -> list[Row]:
        """Return the changes, newest last."""
        return rows.past(admin(self._warn, caller=self._caller).history(resource))

    def rollback(
        self,
        resource: ConfigResource,
        *,
        to_version: int | None = None,
        validate_only: bool = False,
        if_version: int | None = None,
        leave_out: Collection[str] = (),
    ) -> list[Row]:
        """Restore a version, and return what applies now. None is the version before the last change."""
        with self._altering(validate_only=validate_only) as one:
            done = one.rollback(
                resource, to_version, validate_only=validate_only, if_version=if_version, leave_out=leave_out
            )
        return self._changed(resource, done)

    @contextmanager
    def _altering(self, *, validate_only: bool) -> Iterator[ConfigAdmin]:
        """Yield ``altering``. A server logs which policy denies a change to whom, without the reason."""
        try:
            with altering(self._warn, caller=self._caller) as one:
                yield one
        except PolicyViolation as error:
            if self._caller and not validate_only:
                for problem in error.problems:
                    _log.warning("Denied to user %s: %s", printable(self._caller.name), problem.partition(": ")[0])
            raise

    def _changed(self, resource: ConfigResource, done: AlterConfigResult) -> list[Row]:
        """Return what applies now; for a DAG, what its tasks have where their authors' values beat that of the DAG."""
        changed = rows.changed({resource: done})
        is_dag = resource.type is ResourceType.DAG
        return with_task_values(changed, lambda: list(self._task_entries(resource).values())) if is_dag else changed

    def _task_entries(self, dag: ConfigResource) -> dict[str, Entries | None]:
        """
        Return the id of each task that ``dag`` configures with its entries.

        They are None if only a run knows them all.
        """
        try:
            tasks = [task for task in self._layers.concerned(dag) if task.task_id]
            found = admin(no_notes, caller=self._reader).describe_configs(tasks, include_synonyms=True) if tasks else {}
            return {task.task_id: found[task] if self._are_all_known(task) else None for task in tasks}
        except ConfigProvidersError as error:  # what was asked for is done, so this is no reason to report a failure
            self._warn(f"What its tasks have is not shown: {error.problems[0]}")
            return {}

    def refresh(self, resource: ConfigResource) -> list[Row]:
        """Have the values of references read again, and return the resources that this concerns."""
        version = admin(self._warn, caller=self._caller).refresh([resource])[resource]
        return [{"resource": str(one), "version": version} for one in self._layers.concerned(resource)]

    def unread_files(self, task: ConfigResource) -> str:
        """Return why a description of a task lacks layer files, as differences show it; empty if it has all."""
        return self._layers.unread_files(task)

    def tasks(self, dag: ConfigResource) -> list[Row]:
        """Return the tasks of a DAG, and whether this package configures them."""
        return self._layers.tasks(dag)

    def references(self, pattern: str) -> list[Row]:
        """
        Return the tasks whose last job used a reference, and whether its value was the newest.

        :param pattern: a reference, in which ``*`` matches any text
        """
        found = records.usages(pattern, self._reader.may_see_runs_of)
        for sentence in records.about(found):
            self._warn(sentence)
        return found

    def _doubts(self, resource: ConfigResource, entries: Iterable[ConfigEntry]) -> Iterator[str]:
        """Yield a problem for each key that was set, but that Spark does not read, or does not read from that place."""
        places = {one.name: one.origin for one in entries if one.source not in _NOT_WRITTEN}
        takes_any_key = have_other_keys(places) and take_any_key(self._layers.jobs(resource))
        found = find_in(places, settings.unknown_keys(), takes_any_key=takes_any_key)
        is_certain = found.problems and resource.task_id and refuse_keys(self._layers.jobs(resource))
        beginning = f"A run of {resource} would fail. " if is_certain else ""
        yield from (f"{beginning}{problem}" for problem in found.problems)
        yield from found.doubts
        if MASTER in places and pass_master(self._layers.jobs(resource)):
            yield without_effect(places[MASTER])

    def _misfits(self, resource: ConfigResource, entries: Iterable[ConfigEntry]) -> Iterator[str]:
        """Yield what is wrong with values that were set, and whether each run of ``resource`` gets them."""
        unread = unread_sources()
        given = [
            one for one in entries if one.source is not ConfigSource.DEFAULT_CONFIG and one.source.name not in unread
        ]
        found = [(one, reason) for one in given for reason in misfit_reasons(one.name, one.value)]
        if found:
            run = f"A run of {resource}" if self._is_certain(resource) else "A run that gets it"
            yield from (f"{run} would fail: {printable(one.name)} ({one.origin}): {text}" for one, text in found)

    def _is_certain(self, resource: ConfigResource) -> bool:
        """Return whether ``resource`` is a task that we configure, and all of whose layers are known before a run."""
        return bool(resource.task_id and self._layers.jobs(resource)) and self._are_all_known(resource)

    def _are_all_known(self, task: ConfigResource) -> bool:
        """Return whether all layers of a task are known before a run."""
        return self._layers.show_dag(task) and not self._layers.unread_files(task)

    def _no_longer_set(self, task: ConfigResource, described: list[Row], record: TryRecord) -> list[str]:
        gone = record_rows.no_longer_set(described, record, shows_dag=True)
        if gone and not self._layers.show_dag(task):
            return record_rows.no_longer_set(described, record, shows_dag=False)
        return gone


def _not_set(operations: Iterable[AlterConfigOp], done: AlterConfigResult) -> Iterator[str]:
    """Yield a note for each key that was to be deleted, but that the resource itself does not set."""
    changed = {operation.name: operation.op for operation in operations}
    unset = [key for key, op in changed.items() if op is OpType.DELETE and key not in done.entries]
    meant = [key for key in done.layers[0].configs if key not in changed]
    hints = {key: nearest(key, meant) for key in unset[:HINTS]}
    for key in unset:
        yield f"'{printable(key)}' is not deleted, because it is not set for {done.resource}{hints.get(key) or '.'}"


def _not_in_list(done: AlterConfigResult) -> Iterator[str]:
    """Yield a note for each list from which elements were to be removed that it does not have."""
    for key, count in done.absent.items():
        elements = f"{counted(count, 'element')} to remove {'is' if count == 1 else 'are'}"
        yield f"'{printable(key)}': {elements} not in the list that {done.resource} itself has."


def _read_again(operations: Iterable[AlterConfigOp], done: AlterConfigResult, *, validate_only: bool) -> Iterator[str]:
    """Yield a note if nothing changes, but the operations name references, so that their values are read again."""
    now = done.layers[0].configs
    if not done.entries and any(scan(now.get(operation.name, "")) for operation in operations):
        read = "would be read" if validate_only else "are read"
        yield f"The references are what they were, so their values {read} again, as by refresh."


def values_of_tasks(keys: Iterable[str], of_dag: Entries, tasks: Mapping[str, Entries | None]) -> Iterator[str]:
    """
    Yield a note for each key that tasks of a DAG have with another value than the DAG.

    :param tasks: the id of each task with its entries; None if only a run knows them all
    """
    known = {task: entries for task, entries in tasks.items() if entries is not None}
    for key in keys:
        found = ((task, entries[key]) for task, entries in known.items() if key in entries)
        had = of_dag.get(key)
        own = [
            f"{task} has {shown(one.value)} ({one.origin})"
            for task, one in found
            if had is None or (one.value, one.source) != (had.value, had.source)
        ]
        if own:
            yield f"'{printable(key)}': tasks have values of their own. {first_of(own, most=HINTS)}."
    if unknown := [task for task, entries in tasks.items() if entries is None]:
        yield f"Only a run knows everything that these tasks have: {first_of(unknown, most=HINTS)}."


_WEAKER: Final = frozenset({None, ConfigSource.STATIC_FILE_CONFIG.name, ConfigSource.DEFAULT_CONFIG.name})
"""The sources of values that are beaten by what the author of a task wrote; None is that of a key that is not set."""


def with_task_values(rows: Sequence[Row], tasks: Callable[[], Sequence[Entries | None]]) -> list[Row]:
    """
    Return the rows of a changed DAG with what all of its tasks have, if a task can override what the DAG has.

    :param rows: with ``key``, ``value``, ``source`` and ``origin``
    :param tasks: returns the entries of each task, None of a task of which only a run knows them; called if needed
    """
    found = tasks() if any(row["source"] in _WEAKER for row in rows) else ()
    return [_of_tasks(row, found) if found and row["source"] in _WEAKER else row for row in rows]


def _of_tasks(row: Row, tasks: Sequence[Entries | None]) -> Row:
    had = [_had(entries, row["key"]) for entries in tasks if entries is not None]
    if len(had) < len(tasks) or not all(_is_same(had[0], other) for other in had[1:]):
        return {**row, "value": None, "source": None, "origin": "each task decides"}
    if (first := had[0]) is None:
        return {**row, "value": None, "source": None, "origin": "not set anywhere"}
    is_one = len({one.origin for one in had if one}) == 1
    origin = f"{first.origin if is_one else 'written in several places'}, in each task"
    return {**row, "value": shown(first.value), "source": first.source.name, "origin": origin}


def _had(entries: Entries, key: str) -> ConfigSynonym | None:
    """Return what a task has, without the dynamic configuration of its DAG: the change can have been a dry run."""
    synonyms = entries[key].synonyms if key in entries else ()
    return next((one for one in synonyms if one.source is not ConfigSource.DYNAMIC_DAG_CONFIG), None)


def _is_same(one: ConfigSynonym | None, other: ConfigSynonym | None) -> bool:
    """Return whether two tasks have the same value from the same kind of layer; secrets are not compared."""
    if one is None or other is None:
        return one is other
    return one.value is not None and (one.value, one.source) == (other.value, other.source)
