"""What the author of a task wrote, read from the stored DAG without running the task."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, Final

from airflow_config_providers.job import mapped_task
from airflow_config_providers.job.job_layers import deployed_paths
from airflow_config_providers.job.mapped_task import TEXTS
from airflow_config_providers.job.run import field_texts, path_texts
from airflow_config_providers.job.stored_job import StoredJob

_CUT: Final = "Truncated. "
"""The beginning of what Airflow stores instead of an argument that is too long."""

_MARK: Final = "effective_config"
"""The template field that only operators of this package have."""

_MARK_OF_SUBMISSION: Final = "application_args"
"""The template field that only the operators of spark-submit have."""


def is_configured(task: Any) -> bool:
    """Return whether this package configures ``task``, which is from a serialized DAG."""
    return _MARK in task.template_fields


def deployed_task(task: Any, name: str, warn: Callable[[str], None]) -> Any | None:
    """
    Return the fields that make the layers of ``task``, and ``TEXTS``; None if this package does not configure it.

    :param task: an operator of a serialized DAG, mapped or not
    :param name: its name in warnings
    :param warn: is called with each note for the reader
    """
    if not is_configured(task):
        warn(f"{name} runs {task.task_type}, an operator that this package does not configure.")
        return None
    is_submission = _MARK_OF_SUBMISSION in task.template_fields and not mapped_task.is_jdbc(task)
    if task.is_mapped:
        fields = (mapped_task.of_submission if is_submission else mapped_task.of_other)(task, name, warn)
    else:
        fields = _of_submission(task) if is_submission else _of_other(task, name, warn)
    return SimpleNamespace(**{"conf": None, **dict.fromkeys(TEXTS), **fields})


def deployed_texts(job: Any, name: str, warn: Callable[[str], None]) -> dict[str, str]:
    """
    Return the fields besides the configuration that may hold references, under names for people.

    :param job: the result of ``deployed_task``
    """
    cut = [field for field in TEXTS if str(getattr(job, field)).startswith(_CUT)]
    for field in cut:
        warn(f"{name}: {field} is too long for Airflow to store, so the references in it are not known.")
    whole = SimpleNamespace(**{**vars(job), **dict.fromkeys(cut)})
    return {**field_texts(whole), **getattr(job, "texts", {}), **path_texts(deployed_paths(job))}


def _of_other(task: Any, name: str, warn: Callable[[str], None]) -> Mapping[str, Any]:
    """Return the fields of any other operator, whose configuration is stored as a ``StoredJob``."""
    fields = vars(task)
    stored = fields.get("_stored_job")
    if stored is None:
        warn(mapped_task.KNOWN_IN_RUN.format(name))
    job = StoredJob.read(stored) if stored else StoredJob((), {})
    if stored and not job.layers:
        warn(mapped_task.NO_LAYERS.format(name))
    files = {field: fields.get(field) for field in ("config_files", "properties_file")}
    return {**files, "layers": job.layers, "texts": job.texts}


def _of_submission(task: Any) -> Mapping[str, Any]:
    fields = vars(task)
    whole = fields.get("_whole_conf")
    return {**fields, "conf": json.loads(whole)} if whole else fields
