"""
A plan: what changes between two states of a deployment, and what policies say of it.

It is shown as one document to programs, and as tables to people.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Final, Self

from airflow_config_providers.core.alter import AlterConfigOp
from airflow_config_providers.core.layers import ConfigEntry, ConfigLayer
from airflow_config_providers.core.policy import Moment, NamedPolicy, RequestMetadata
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.core.templates import ONLY_A_RUN_KNOWS
from airflow_config_providers.core.text import counted, first_of, grouped, printable
from airflow_config_providers.deployment.admin import admin
from airflow_config_providers.deployment.rows import Row, as_json, shown
from airflow_config_providers.dynamic.policies.policy_set import DENIES, WARNS, LastRequest, PolicyVerdict, verdict_of
from airflow_config_providers.job.deployed_task import Warn
from airflow_config_providers.job.policies import deployed_request
from airflow_config_providers.planning.changes import KeyChange, Kind, RunningJob, TaskChange
from airflow_config_providers.planning.dag_folder import Jobs
from airflow_config_providers.planning.state import State


@dataclass(frozen=True, slots=True)
class PlannedAlter:
    """
    A change of dynamic configuration that is checked, but not made.

    :param request: what policies see of it
    :param layer: the layer of the resource after the change
    :param keys: the keys of the resource that change
    """

    resource: ConfigResource
    request: RequestMetadata
    layer: ConfigLayer
    keys: Collection[str]

    @classmethod
    def checked(cls, resource: ConfigResource, operations: Sequence[AlterConfigOp], *, warn: Warn) -> PlannedAlter:
        """
        Return the change that ``alter`` would make. Policies are not asked yet.

        :raises ConfigProvidersError: ``alter`` would refuse it, with the same problems
        """
        seen = LastRequest()
        done = admin(warn, [seen]).incremental_alter_configs({resource: operations}, validate_only=True)[resource]
        return cls(resource, seen.request, done.layers[0], done.entries.keys())


@dataclass(frozen=True, slots=True)
class Policies:
    """
    The policies that are asked.

    :param after: those that are asked about the second state
    :param before: those of the deployment now; the same object if they do not change
    """

    after: Sequence[NamedPolicy]
    before: Sequence[NamedPolicy]

    @property
    def change(self) -> bool:
        """Whether the change is about the policies themselves, too."""
        return self.after is not self.before

    def named(self, name: str) -> list[NamedPolicy]:
        """Return the policies of the deployment now that have a name."""
        return [policy for policy in self.before if policy.name == name]


@dataclass(frozen=True, slots=True)
class Judgement:
    """
    The verdict of a policy on a task or on a change.

    :param is_old: whether the policy says the same without the change: the deployment has it, and it denies or warns
    """

    resource: ConfigResource
    verdict: PolicyVerdict
    is_old: bool = False

    @property
    def objects(self) -> bool:
        """Whether the policy denies, or only warns, because of the change."""
        return bool(self.verdict.denials) and not self.is_old

    @property
    def denies(self) -> bool:
        """Whether the policy denies because of the change."""
        return self.objects and self.verdict.text == DENIES

    def repeated(self) -> set[tuple[str, str]]:
        """Return the policy and what it says, if it is about the change itself: of tasks, it says the same."""
        is_first = self.objects and self.verdict.at is Moment.ALTER
        return {(self.verdict.policy, denial.reason) for denial in self.verdict.denials} if is_first else set()

    def without(self, repeated: Collection[tuple[str, str]]) -> Self | None:
        """Return the judgement of a task without what is ``repeated``; None if it says nothing else."""
        verdict = self.verdict
        if not self.objects or verdict.at is Moment.ALTER:
            return self
        kept = tuple(one for one in verdict.denials if (verdict.policy, one.reason) not in repeated)
        return replace(self, verdict=replace(verdict, denials=kept)) if kept else None


@dataclass(frozen=True, slots=True)
class Plan:
    """
    What changes between two states.

    :param judgements: the verdicts of the policies, denials first, then warnings
    :param undecided: the tasks of which only a run knows what changes, because it chooses a layer file
    """

    tasks: Sequence[TaskChange] = ()
    judgements: Sequence[Judgement] = ()
    running: Sequence[RunningJob] = ()
    counts: Mapping[Kind, int] = field(default_factory=dict)
    undecided: Sequence[ConfigResource] = ()

    @classmethod
    def of(
        cls,
        tasks: Sequence[TaskChange],
        judgements: Iterable[Judgement],
        running: Sequence[RunningJob],
        undecided: Sequence[ConfigResource] = (),
    ) -> Plan:
        """Return the plan with its counts. A key that changes alike in several tasks is counted once."""
        keys = {(key.kind, key.key) for task in tasks for key in task.keys}
        counts = {kind: sum(one is kind for one, _ in keys) for kind in Kind}
        return cls(tasks, sorted(judgements, key=_rank), running, counts, undecided)

    @property
    def distinct_judgements(self) -> list[Judgement]:
        """The judgements: reasons against a task are left out if the same is said of the change itself."""
        repeated = set[tuple[str, str]]().union(*(one.repeated() for one in self.judgements))
        return [left for one in self.judgements if (left := one.without(repeated))]

    @property
    def denials(self) -> list[str]:
        """The reasons of the policies that deny the change."""
        return [reason for one in self.distinct_judgements if one.denies for reason in one.verdict.reasons]

    @property
    def unchanged(self) -> dict[ConfigResource, list[Judgement]]:
        """The tasks whose configuration stays the same, and what other policies say of them."""
        changed = {change.task for change in self.tasks}
        judged = [one for one in self.judgements if one.verdict.at is Moment.RENDER and one.resource not in changed]
        return grouped((one.resource, one) for one in judged)

    @property
    def may_differ(self) -> bool:
        """Whether something changes, or only a run knows whether it does."""
        others = chain.from_iterable(self.unchanged.values())
        return bool(self.tasks or self.undecided or any(not one.is_old for one in others))

    def doubt(self) -> str:
        """Return a sentence about the tasks that are undecided; empty if none is."""
        return _UNDECIDED.format(named(self.undecided)) if self.undecided else ""

    def summary(self) -> str:
        """Return the plan in one sentence, by how many policies it is denied, and how many only warn."""
        denying, warning = self._policies(DENIES), self._policies(WARNS)
        denied = f" Denied by {counted(denying, 'policy', 'policies')}." if denying else ""
        warned = f" Warned of by {counted(warning, 'policy', 'policies')}." if warning else ""
        return f"Plan: {self._changes()}.{denied}{warned}"

    def _policies(self, text: str) -> int:
        return len({one.verdict.policy for one in self.judgements if one.objects and one.verdict.text == text})

    def _changes(self) -> str:
        if not self.tasks and self.may_differ:
            return "nothing is known to change" if self.undecided else "no configuration changes"
        if not self.tasks:
            return "nothing changes"
        parts = [f"{counted(len(self.tasks), 'task')} change{'s' * (len(self.tasks) == 1)}"]
        parts += [f"{counted(self.counts.get(kind, 0), 'key')} {kind.value}" for kind in Kind]
        restarts = sum(one.restarts for one in self.running)
        parts += [f"{counted(restarts, 'running job')} restart{'s' * (restarts == 1)}"] if restarts else []
        return ", ".join(parts)


_UNDECIDED = "Only a run knows what changes in {}, because it chooses a layer file."


def judgements_of_alter(policies: Sequence[NamedPolicy], alter: PlannedAlter) -> Iterator[Judgement]:
    """Yield what each policy says of the change itself."""
    yield from (Judgement(alter.resource, verdict_of(policy, alter.request)) for policy in policies)


def judgements_of_task(policies: Policies, change: TaskChange, before: State, after: State) -> Iterator[Judgement]:
    """Yield what each policy says of a run of the task after the change; nothing if the task is removed."""
    if change.is_removed or not policies.after:
        return
    request, is_whole = _request(change.task, change.after, after.jobs), not after.chosen_files(change.task)
    for policy in policies.after:
        verdict = verdict_of(policy, request, is_whole=is_whole)
        deployed = policies.named(policy.name) if verdict.denials else []
        is_old = verdict.text in _before(deployed, change, before.jobs).values()
        yield Judgement(change.task, verdict, is_old)


def judgements_of_other_task(policies: Policies, task: TaskChange, before: State, after: State) -> Iterator[Judgement]:
    """Yield what other policies say of a task whose configuration stays the same, unless they allow it as before."""
    judged = list(judgements_of_task(policies, task, before, after))
    yield from (one for one in judged if one.verdict.text in {DENIES, WARNS, ONLY_A_RUN_KNOWS})
    now = {one.verdict.policy: one.verdict.text for one in judged}
    for name, text in _before(policies.before, task, before.jobs).items():
        if now.get(name) not in {text, DENIES}:
            yield Judgement(task.task, PolicyVerdict(name, Moment.RENDER, f"no longer {text}"))


def _before(policies: Sequence[NamedPolicy], change: TaskChange, jobs: Jobs) -> dict[str, str]:
    """Return policy -> verdict of those that deny the task before the change, or warn."""
    if change.is_new or not policies:
        return {}
    request = _request(change.task, change.before, jobs)
    found = (verdict_of(policy, request) for policy in policies)
    return {verdict.policy: verdict.text for verdict in found if verdict.denials}


def _request(task: ConfigResource, layers: Sequence[ConfigLayer], jobs: Jobs) -> RequestMetadata:
    return deployed_request(task, layers, jobs[task])


def _rank(one: Judgement) -> int:
    return 0 if one.denies else 1 if one.objects else 2 if one.is_old else 3


_NAMED: Final = 3
"""How many of the tasks with the same change are named to people."""

_NAMED_IF_DENIED: Final = 20
"""How many of them are named if a policy denies them, or warns."""


def document(plan: Plan) -> Row:
    """Return the whole plan for programs."""
    judged = grouped((one.resource, one) for one in plan.judgements)
    running = grouped((one.task, one) for one in plan.running)
    return {
        "tasks": [
            {
                **_task(change),
                "policies": list(map(_judgement, judged.get(change.task, ()))),
                "running": list(map(_running, running.get(change.task, ()))),
            }
            for change in plan.tasks
        ],
        "policies": [_judgement(one) for one in plan.judgements if one.verdict.at is Moment.ALTER],
        "unchanged": [
            {"dag": task.dag_id, "task": task.task_id, "policies": list(map(_judgement, found))}
            for task, found in plan.unchanged.items()
        ],
        "undecided": list(map(_name, plan.undecided)),
        "summary": {
            "tasks": len(plan.tasks),
            **{f"keys_{kind.value}": count for kind, count in plan.counts.items()},
            "restarts": sum(one.restarts for one in plan.running),
            "denied": bool(plan.denials),
            "warned": any(one.objects and not one.denies for one in plan.judgements),
        },
    }


def changed_keys(plan: Plan) -> list[Row]:
    """Return a row for each change of a key, with the tasks that have it."""
    changes = [(change.task, _key(key)) for change in plan.tasks for key in change.keys]
    changes += [(change.task, _whole(change)) for change in plan.tasks if not change.keys]
    return [
        {
            "change": row["change"],
            "key": row["key"],
            "before": row["before"],
            "after": row["after"],
            "before_layer": _layer(row, "before"),
            "after_layer": _layer(row, "after"),
            "tasks": named(tasks),
        }
        for row, tasks in _grouped(changes)
    ]


def verdicts(plan: Plan) -> list[Row]:
    """Return a row for each verdict of a policy, denials first, with the tasks that it is about."""
    judged = [(one.resource, _judgement(one)) for one in plan.distinct_judgements]
    # without the resource, reasons for different tasks are equal
    plain = [
        (resource, {**row, "reasons": [one.replace(f" of {resource}", "", 1) for one in row["reasons"]]})
        for resource, row in judged
    ]
    return [_named_first(row, resources) for row, resources in _grouped(plain)]


def _named_first(row: Row, resources: Sequence[ConfigResource]) -> Row:
    """Return a row with the resources before the reasons, which are long; with reasons, more are named."""
    most = _NAMED_IF_DENIED if row["verdict"] in {DENIES, WARNS} else _NAMED
    judged = {column: row[column] for column in ("policy", "at", "verdict")}
    return {**judged, "of": named(resources, most), "reasons": row["reasons"]}


def running_tries(plan: Plan) -> list[Row]:
    """Return a row for each running job, with the keys that wait for the next submit."""
    return [{"task": _name(one.task), **_running(one)} for one in plan.running]


def _grouped(rows: Iterable[tuple[ConfigResource, Row]]) -> list[tuple[Row, list[ConfigResource]]]:
    found: dict[str, tuple[Row, list[ConfigResource]]] = {}
    for resource, row in rows:
        found.setdefault(as_json(row), (row, []))[1].append(resource)
    return list(found.values())


def _task(change: TaskChange) -> Row:
    return {
        "dag": change.task.dag_id,
        "task": change.task.task_id,
        "change": _whole(change)["change"],
        "keys": list(map(_key, change.keys)),
    }


def _whole(change: TaskChange) -> dict[str, Any]:
    kind = "added" if change.is_new else "removed" if change.is_removed else "changed"
    return {"change": kind, "key": None, "before": None, "after": None}


def _key(change: KeyChange) -> Row:
    return {
        "key": change.key,
        "change": change.kind.value,
        **_entry(change.before, "before"),
        **_entry(change.after, "after"),
    }


def _entry(entry: ConfigEntry | None, side: str) -> Row:
    if entry is None:
        return {side: None, f"{side}_source": None, f"{side}_origin": None}
    return {side: shown(entry.value), f"{side}_source": entry.source.name, f"{side}_origin": entry.origin}


def _layer(row: Row, side: str) -> str | None:
    return f"{row[f'{side}_source']}, {row[f'{side}_origin']}" if row.get(f"{side}_source") else None


def _judgement(one: Judgement) -> Row:
    verdict = one.verdict
    return {
        "policy": verdict.policy,
        "at": verdict.at and verdict.at.value,
        "verdict": f"{verdict.text}, also without this change" if one.is_old else verdict.text,
        "reasons": list(verdict.reasons),
    }


def _running(one: RunningJob) -> Row:
    return {
        "run": one.task_try.run_id,
        "map_index": one.task_try.map_index,
        "try": one.task_try.try_number,
        "state": one.state,
        "restarts": one.restarts,
        "waiting": list(one.waiting),
    }


def named(resources: Sequence[ConfigResource], most: int = _NAMED) -> str:
    """Return the names of the first resources, at most so many, and how many more there are."""
    return first_of(map(_name, resources), most=most)


def _name(resource: ConfigResource) -> str:
    return printable(f"{resource.dag_id}.{resource.task_id}") if resource.task_id else str(resource)
