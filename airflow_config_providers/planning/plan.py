"""A plan: what changes between two states of a deployment, and what policies say of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource
from airflow_config_providers.core.layers import ConfigLayer
from airflow_config_providers.core.policy import NamedPolicy, RequestMetadata
from airflow_config_providers.core.text import counted
from airflow_config_providers.deployment.admin import admin
from airflow_config_providers.dynamic.policies.policy_set import PolicyVerdict, Seeing, verdict_of
from airflow_config_providers.job.authored_job import referring_paths
from airflow_config_providers.job.deployed_task import Warn
from airflow_config_providers.job.rendered import rendered
from airflow_config_providers.planning.changes import Kind, TaskChange
from airflow_config_providers.planning.dag_folder import Jobs
from airflow_config_providers.planning.running_jobs import RunningJob


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
        seen = Seeing()
        done = admin(warn, [seen]).incremental_alter_configs({resource: operations}, validate_only=True)[resource]
        return cls(resource, seen.request, done.layers[0], done.entries.keys())


@dataclass(frozen=True, slots=True)
class Judgement:
    """
    The verdict of a policy on a task or on a change.

    :param is_old: whether the policy denies the task without the change, too
    """

    resource: ConfigResource
    verdict: PolicyVerdict
    is_old: bool = False

    @property
    def denies(self) -> bool:
        """Whether the policy denies because of the change."""
        return self.verdict.text == "denies" and not self.is_old


@dataclass(frozen=True, slots=True)
class Plan:
    """
    What changes between two states.

    :param judgements: the verdicts of the policies, denials first
    """

    tasks: Sequence[TaskChange] = ()
    judgements: Sequence[Judgement] = ()
    running: Sequence[RunningJob] = ()
    counts: Mapping[Kind, int] = field(default_factory=dict)

    @classmethod
    def of(cls, tasks: Sequence[TaskChange], judgements: Iterable[Judgement], running: Sequence[RunningJob]) -> Plan:
        """Return the plan with its counts. A key that changes alike in several tasks is counted once."""
        keys = {(key.kind, key.key) for task in tasks for key in task.keys}
        counts = {kind: sum(one is kind for one, _ in keys) for kind in Kind}
        return cls(tasks, sorted(judgements, key=_rank), running, counts)

    @property
    def denials(self) -> list[str]:
        """The reasons of the policies that deny the change."""
        return [reason for one in self.judgements if one.denies for reason in one.verdict.reasons]

    @property
    def is_empty(self) -> bool:
        """Whether nothing changes."""
        return not self.tasks

    def summary(self) -> str:
        """Return the plan in one sentence."""
        if self.is_empty:
            return "Plan: nothing changes."
        parts = [f"{counted(len(self.tasks), 'task')} change{'s' * (len(self.tasks) == 1)}"]
        parts += [f"{counted(self.counts.get(kind, 0), 'key')} {kind.value}" for kind in Kind]
        restarts = sum(one.restarts for one in self.running)
        parts += [f"{counted(restarts, 'running job')} restart{'s' * (restarts == 1)}"] if restarts else []
        policies = len({one.verdict.policy for one in self.judgements if one.denies})
        return f"Plan: {', '.join(parts)}.{_DENIED.format(counted(policies, 'policy', 'policies')) if policies else ''}"


_DENIED = " Denied by {}."


def judgements_of_alter(policies: Sequence[NamedPolicy], alter: PlannedAlter) -> Iterator[Judgement]:
    """Yield what each policy says of the change itself."""
    yield from (Judgement(alter.resource, verdict_of(policy, alter.request)) for policy in policies)


def judgements_of_task(
    policies: Sequence[NamedPolicy], change: TaskChange, before: Jobs, after: Jobs
) -> Iterator[Judgement]:
    """Yield what each policy says of a run of the task after the change; nothing if the task is removed."""
    if change.is_removed or not policies:
        return
    request = _request(change.task, change.after, after)
    for policy in policies:
        verdict = verdict_of(policy, request)
        is_old = bool(verdict.reasons) and not change.is_new and _denied_before(policy, change, before)
        yield Judgement(change.task, verdict, is_old)


def _denied_before(policy: NamedPolicy, change: TaskChange, jobs: Jobs) -> bool:
    return verdict_of(policy, _request(change.task, change.before, jobs)).text == "denies"


def _request(task: ConfigResource, layers: Sequence[ConfigLayer], jobs: Jobs) -> RequestMetadata:
    job = jobs[task]
    return rendered(task, layers, {**job.texts, **referring_paths(job.files.values())})


def _rank(one: Judgement) -> int:
    return 0 if one.denies else 1 if one.is_old else 2
