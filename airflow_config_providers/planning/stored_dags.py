"""The jobs of the DAGs that Airflow has stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.deployment.admin import Caller, stored_dag
from airflow_config_providers.deployment.records import reading
from airflow_config_providers.job.authored_job import AuthoredJob
from airflow_config_providers.job.deployed_task import Warn, deployed_job, is_configured

Jobs = dict[ConfigResource, AuthoredJob]
"""Task -> its job, for each task that this package configures."""


def stored_dag_ids() -> Sequence[str]:
    """
    Return the ids of the DAGs whose files are still there, in order.

    :raises ProviderUnavailableError: the database is unavailable
    """
    from airflow.models.dag import DagModel  # noqa: PLC0415 - heavy
    from airflow.models.serialized_dag import SerializedDagModel  # noqa: PLC0415 - heavy
    from sqlalchemy import select  # noqa: PLC0415 - slow to import

    stored = select(SerializedDagModel.dag_id)
    query = select(DagModel.dag_id).where(DagModel.is_stale.is_(False), DagModel.dag_id.in_(stored))
    return reading(lambda session: session.scalars(query.order_by(DagModel.dag_id)).all())


def stored_jobs(dag_ids: Iterable[str], *, warn: Warn, tick: Callable[[], object]) -> Jobs:
    """
    Return the jobs of DAGs.

    :param warn: is called with what a job does not show
    :param tick: is called after each DAG
    :raises UnknownResourceError: there is no such DAG
    :raises ProviderUnavailableError: the database is unavailable, or another version has stored the DAG
    """
    jobs: Jobs = {}
    for dag_id in dag_ids:
        jobs.update(_jobs(dag_id, warn))
        tick()
    return jobs


def _jobs(dag_id: str, warn: Warn) -> Jobs:
    tasks = {
        ConfigResource.of_task(dag_id, task.task_id): task
        for task in stored_dag(dag_id, Caller()).tasks
        if is_configured(task)
    }
    found = {resource: deployed_job(task, str(resource), warn) for resource, task in tasks.items()}
    return {resource: job for resource, job in found.items() if job is not None}
