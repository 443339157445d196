"""A task as Airflow stores it with its DAG: what its author wrote, without running it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, Final

from airflow_config_providers.deployment import mapped_task
from airflow_config_providers.deployment.mapped_task import TEXTS
from airflow_config_providers.operators.job_layers import deployed_paths
from airflow_config_providers.operators.job_run import field_texts, path_texts
from airflow_config_providers.operators.stored_job import StoredJob

_CUT: Final = "Truncated. "
"""Begins what Airflow stores of an argument that is too long for it."""

_MARK: Final = "effective_config"
"""The template field that only operators of this package have."""

_MARK_OF_SUBMISSION: Final = "application_args"
"""That which only those of spark-submit have."""


def is_configured(task: Any) -> bool:
    """Tell whether ``task``, of a serialized DAG, is a job that is configured by this package."""
    return _MARK in task.template_fields


def deployed_task(task: Any, name: str, warn: Callable[[str], None]) -> Any | None:
    """
    Give what makes the layers of ``task``, and ``TEXTS``; None where it is no job that is configured by this package.

    :param task: an operator of a serialized DAG, mapped or not
    :param name: what people call it
    :param warn: is told what a reader should know
    """
    if not is_configured(task):
        warn(f"{name} runs {task.task_type}, which is not configured by this package.")
        return None
    is_submission = _MARK_OF_SUBMISSION in task.template_fields and not mapped_task.is_jdbc(task)
    if task.is_mapped:
        fields = (mapped_task.of_submission if is_submission else mapped_task.of_other)(task, name, warn)
    else:
        fields = _of_submission(task) if is_submission else _of_other(task, name, warn)
    return SimpleNamespace(**{"conf": None, **dict.fromkeys(TEXTS), **fields})


def deployed_texts(job: Any, name: str, warn: Callable[[str], None]) -> dict[str, str]:
    """
    Give what a job refers to beside its configuration, by names that people understand.

    :param job: as ``deployed_task`` gives it
    """
    cut = [field for field in TEXTS if str(getattr(job, field)).startswith(_CUT)]
    for field in cut:
        warn(f"{name}: {field} is longer than Airflow stores, so the references in it are not known.")
    whole = SimpleNamespace(**{**vars(job), **dict.fromkeys(cut)})
    return {**field_texts(whole), **getattr(job, "texts", {}), **path_texts(deployed_paths(job))}


def _of_other(task: Any, name: str, warn: Callable[[str], None]) -> Mapping[str, Any]:
    """Give what an operator has that keeps its configuration in a place of its own."""
    fields = vars(task)
    stored = fields.get("_stored_job")
    if stored is None:
        warn(f"{name}: only a run tells what its author wrote, because it is filled in.")
    job = StoredJob.read(stored) if stored else StoredJob((), {})
    if stored and not job.layers:
        warn(mapped_task.NO_LAYERS.format(name))
    files = {field: fields.get(field) for field in ("config_files", "properties_file")}
    return {**files, "layers": job.layers, "texts": job.texts}


def _of_submission(task: Any) -> Mapping[str, Any]:
    fields = vars(task)
    whole = fields.get("_whole_conf")
    return {**fields, "conf": json.loads(whole)} if whole else fields
