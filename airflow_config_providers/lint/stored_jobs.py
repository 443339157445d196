"""The jobs of the tasks in a DAG file, as Airflow would store them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.job.deployed_task import deployed_job, is_configured
from airflow_config_providers.lint.entry import StoredJob


def stored_jobs(dag: Any) -> Iterator[StoredJob]:
    """Yield the job of each configured task of ``dag``, after storing and reading it as Airflow does."""
    from airflow.serialization.serialized_objects import DagSerialization  # noqa: PLC0415 - heavy

    stored = DagSerialization.from_dict(DagSerialization.to_dict(dag))
    yield from (_stored(dag.dag_id, task) for task in stored.tasks if is_configured(task))


def _stored(dag_id: str, task: Any) -> StoredJob:
    notes: list[str] = []
    job = deployed_job(task, str(ConfigResource.of_task(dag_id, task.task_id)), notes.append)
    return StoredJob(dag_id, task.task_id, "" if job is None else job.text(), tuple(notes))
