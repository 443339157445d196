"""The objects that describe and alter the deployment to which this process belongs."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Final

from airflow_config_providers import settings
from airflow_config_providers.core.layers import ConfigLayer
from airflow_config_providers.core.policy import AlterConfigPolicy, NamedPolicy
from airflow_config_providers.core.process_environment import user
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.core.templates import ONLY_A_RUN_KNOWS, is_known_only_in_run
from airflow_config_providers.core.text import nearest, printable
from airflow_config_providers.deployment.failures import NOT_FOUND
from airflow_config_providers.deployment.objections import DeployedObjections, JobRules
from airflow_config_providers.deployment.rows import NOT_READ_HERE, Row
from airflow_config_providers.dynamic.admin import ConfigAdmin, no_notes
from airflow_config_providers.dynamic.airflow_store import VariableStore
from airflow_config_providers.dynamic.database import unavailable
from airflow_config_providers.dynamic.writer import ChangeAuthor
from airflow_config_providers.exceptions import ProviderUnavailableError, UnknownResourceError
from airflow_config_providers.job.authored_job import AuthoredJob
from airflow_config_providers.job.deployed_task import Warn, deployed_job, is_configured
from airflow_config_providers.job.job_layers import deployed_layers
from airflow_config_providers.job.policies import deployment_policies
from airflow_config_providers.lazy import sa
from airflow_config_providers.spark.catalogue import spark_definition
from airflow_config_providers.spark.installation import version_at_hand

_DYNAMIC_DISABLED: Final = (
    "[config_providers] dynamic_enabled is False here. Tasks with this setting ignore dynamic configuration."
)


@dataclass(frozen=True, slots=True)
class Caller:
    """
    The user who asks, and what is read for them.

    :param name: the name for the history and the audit log
    :param environ: the environment of the jobs
    :param of_task: returns what a task's author wrote, like ``deployed_job``
    :param may_see: returns those of the given DAG ids that the caller may see
    :param may_see_runs: returns whether the caller may see the runs of the DAG that the request is about
    :param may_see_runs_of: returns those of the given DAG ids whose runs the caller may see
    """

    name: str = ""
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    of_task: Callable[[Any, str, Warn], AuthoredJob | None] = deployed_job
    may_see: Callable[[Collection[str]], Collection[str]] = tuple
    may_see_runs: Callable[[], bool] = lambda: True
    may_see_runs_of: Callable[[Collection[str]], Collection[str]] = tuple


def admin(
    warn: Warn, policies: Sequence[AlterConfigPolicy | NamedPolicy] = (), *, caller: Caller | None = None
) -> ConfigAdmin:
    """
    Return a ``ConfigAdmin`` with the database and the secret of this deployment.

    :param policies: the policies that every change must pass
    :param caller: the user who asks; None for the user who runs this command
    """
    if not settings.dynamic_enabled():
        warn(_DYNAMIC_DISABLED)
    caller = caller or Caller(user())
    layers = DeployedLayers(warn, caller)
    return ConfigAdmin(
        VariableStore(caller.name),
        spark_definition(),
        policies,
        layers=layers,
        seal=settings.seal(),
        objections=DeployedObjections(
            layers.jobs, DeployedLayers(no_notes, caller).of_jobs, warn, spark_version=version_at_hand(caller.environ)
        ),
        author=ChangeAuthor(caller.name),
        warn=warn,
    )


@contextmanager
def altering(warn: Warn, *, caller: Caller | None = None) -> Iterator[ConfigAdmin]:
    """Yield ``admin`` with the policies of the deployment; if they cannot be loaded, it denies every change."""
    with deployment_policies() as policies:
        yield admin(warn, policies, caller=caller)


class DeployedLayers:
    """
    The layers of a resource that are not dynamic, read from deployed DAGs without running them.

    Each DAG is read once, and each warning given once. Not thread-safe.

    :raises UnknownResourceError: there is no such DAG or task
    :raises ProviderUnavailableError: the database is unavailable
    """

    def __init__(self, warn: Warn, caller: Caller = Caller()) -> None:
        self._warn = warn
        self._caller = caller
        self._known: dict[ConfigResource, Sequence[ConfigLayer]] = {}
        self._jobs: dict[ConfigResource, list[JobRules]] = {}
        self._dag = cache(partial(stored_dag, caller=caller))

    def __call__(self, resource: ConfigResource) -> Sequence[ConfigLayer]:
        """
        Return the layers.

        :raises UnknownResourceError: there is no such DAG or task
        :raises ProviderUnavailableError: the database is unavailable
        """
        if resource not in self._known:
            job = self.job(resource) if resource.dag_id else None
            self._known[resource] = deployed_layers(job, self._caller.environ, warn=self._warn)
        return self._known[resource]

    def job(self, task: ConfigResource) -> AuthoredJob | None:
        """
        Return the job of a task; None if the task is not ours, or for a DAG.

        It raises the same errors as a call of this object.
        """
        dag = self._dag(task.dag_id)
        if not task.task_id:
            return None
        if task.task_id not in dag.task_ids:
            raise UnknownResourceError(_no_task(task, dag.task_ids))
        return self._caller.of_task(dag.get_task(task.task_id), str(task), self._warn)

    def files(self, resource: ConfigResource) -> list[str]:
        """
        Return the paths of the properties files that are layers, as they are written.

        It raises the same errors as a call of this object.
        """
        job = self.job(resource) if resource.dag_id else None
        return [*settings.config_files(), *(job.files.values() if job else ())]

    def unread_files(self, task: ConfigResource) -> str:
        """
        Return why the layers of a task lack files: only a run knows them, or the caller does not read them.

        :return: empty if no file is missing
        :raises ProviderUnavailableError: the database is unavailable
        """
        jobs = (deployed_job(one, str(task), no_notes) for one in self._configured(task))
        named = [path for job in jobs if job for path in job.files.values()]
        if any(map(is_known_only_in_run, (*settings.config_files(), *named))):
            return ONLY_A_RUN_KNOWS
        return NOT_READ_HERE if named and not set(named) <= set(self.files(task)) else ""

    def jobs(self, resource: ConfigResource) -> list[JobRules]:
        """
        Return the jobs of a DAG, or the job of a task; an empty list if the resource does not exist.

        :raises ProviderUnavailableError: the database is unavailable
        """
        if resource not in self._jobs:
            self._jobs[resource] = [JobRules.of(task) for task in self._configured(resource)]
        return self._jobs[resource]

    def of_jobs(self, resource: ConfigResource) -> Mapping[ConfigResource, Sequence[ConfigLayer]]:
        """
        Return the tasks whose jobs ``resource`` configures, with their layers; the resource itself if they are unknown.

        :return: nothing if the resource does not exist
        :raises ProviderUnavailableError: the database is unavailable
        """
        try:
            return {one: self(one) for one in self.concerned(resource)}
        except UnknownResourceError:
            return {}

    def show_dag(self, task: ConfigResource) -> bool:
        """
        Return whether the layers of a task have everything that its DAG sets.

        They do not if only a run knows the rest, such as what each instance of a mapped task has of its own.

        :raises ProviderUnavailableError: the database is unavailable
        """
        missing: list[str] = []
        for one in self._configured(task):
            deployed_job(one, str(task), missing.append)
        return not missing

    def tasks(self, dag: ConfigResource) -> list[Row]:
        """
        Return a row for each task of a DAG, and whether this package configures it.

        :raises UnknownResourceError: there is no such DAG
        :raises ProviderUnavailableError: the database is unavailable
        """
        return [
            {"task": task.task_id, "operator": task.task_type, "configured": is_configured(task)}
            for task in self._dag(dag.dag_id).tasks
        ]

    def dag_file(self, task: ConfigResource) -> str:
        """
        Return the path from which the DAG processor has read a task that this package configures; empty if it has not.

        :raises ProviderUnavailableError: the database is unavailable
        """
        return str(self._dag(task.dag_id).fileloc or "") if self._configured(task) else ""

    def concerned(self, resource: ConfigResource) -> list[ConfigResource]:
        """
        Return the tasks whose jobs ``resource`` configures; the resource itself if they are unknown, or all.

        :raises ProviderUnavailableError: the database is unavailable
        """
        ids = [task.task_id for task in self._configured(resource)]
        return [ConfigResource.of_task(resource.dag_id, task_id) for task_id in ids] or [resource]

    def _configured(self, resource: ConfigResource) -> list[Any]:
        """Return the tasks of ``resource`` that this package configures; none if it is unknown, or the deployment."""
        try:
            dag = self._dag(resource.dag_id) if resource.dag_id else None
        except UnknownResourceError:
            dag = None
        if dag is None:
            return []
        return [task for task in dag.tasks if resource.task_id in ("", task.task_id) and is_configured(task)]


def _no_task(resource: ConfigResource, known: Sequence[str]) -> str:
    what = f"DAG '{printable(resource.dag_id)}' has no task '{printable(resource.task_id)}'"
    if inside := [task for task in known if task.startswith(f"{resource.task_id}.")]:
        return f"{what}: it is a task group. Name one of its tasks, such as '{printable(inside[0])}'."
    return f"{what}{nearest(resource.task_id, known) or '.'} {NOT_FOUND}"


def stored_dag(dag_id: str, caller: Caller) -> Any:
    """
    Return the DAG as Airflow has stored it.

    :raises UnknownResourceError: there is no such DAG
    :raises ProviderUnavailableError: the database is unavailable, or another version has stored the DAG
    """
    try:
        dag, known = _read(dag_id)
    except sa.exc.SQLAlchemyError as error:
        failure = unavailable(f"reading DAG '{printable(dag_id)}'", error)
    except Exception as error:  # noqa: BLE001 - reading a DAG that another version stored can raise anything
        failure = ProviderUnavailableError(
            f"The stored DAG '{printable(dag_id)}' cannot be read ({type(error).__name__}). Store it again: airflow "
            f"dags reserialize"
        )
    else:
        if dag is not None:
            return dag
        hint = nearest(dag_id, caller.may_see(known)) or "."
        raise UnknownResourceError(f"There is no DAG '{printable(dag_id)}'{hint} {NOT_FOUND}")
    raise failure


def _read(dag_id: str) -> tuple[Any | None, Sequence[str]]:
    """Return the stored DAG or, if there is none, the ids that can have been meant."""
    from airflow.models.serialized_dag import SerializedDagModel  # noqa: PLC0415 - heavy
    from airflow.utils.session import create_session  # noqa: PLC0415 - heavy

    with create_session() as session:
        dag = SerializedDagModel.get_dag(dag_id, session=session)
        if dag is not None and dag.dag_id != dag_id:  # MySQL searches without case, accents and spaces at the end
            return None, [dag.dag_id]
        return dag, () if dag is not None else session.scalars(sa.select(SerializedDagModel.dag_id).distinct()).all()
