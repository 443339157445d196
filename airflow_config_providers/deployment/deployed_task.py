"""A task as Airflow stores it with its DAG: what its author wrote, without running it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, Final

from airflow_config_providers.operators.job_layers import deployed_paths
from airflow_config_providers.operators.job_run import field_texts, path_texts
from airflow_config_providers.operators.stored_job import StoredJob
from airflow_config_providers.spark import arguments, exposure

FIELDS: Final = ("conf", "config_files", "properties_file", *arguments.KEYS)
"""The arguments that make layers."""

TEXTS: Final = ("env_vars", *exposure.FIELDS)
"""The arguments that are no configuration and may hold references too."""

_CUT: Final = "Truncated. "
"""Begins what Airflow stores of an argument that is too long for it."""

_MARK: Final = "effective_config"
"""The template field that only operators of this package have."""

_MARK_OF_SUBMISSION: Final = "application_args"
"""That which only those of spark-submit have."""


def deployed_task(task: Any, name: str, warn: Callable[[str], None]) -> Any | None:
    """
    Give what ``task`` has of ``FIELDS`` and ``TEXTS``; None where it is no job that is configured by this package.

    :param task: an operator of a serialized DAG, mapped or not
    :param name: what people call it
    :param warn: is told what a reader should know
    """
    if _MARK not in task.template_fields:
        warn(f"{name} runs {task.task_type}, which is not configured by this package.")
        return None
    if _MARK_OF_SUBMISSION not in task.template_fields:
        fields = _anywhere(task, name, warn)
    else:
        fields = _of_mapped(task, name, warn) if task.is_mapped else _of_plain(task)
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


def _anywhere(task: Any, name: str, warn: Callable[[str], None]) -> Mapping[str, Any]:
    """Give what an operator has that keeps its configuration in a place of its own."""
    stored = None if task.is_mapped else vars(task).get("_stored_job")
    if stored is None:
        warn(f"{name}: only a run tells what its author wrote, because it is mapped or filled in.")
    job = StoredJob.read(stored) if stored else StoredJob((), {})
    files = (task.partial_kwargs if task.is_mapped else vars(task)).get("config_files")
    return {"layers": job.layers, "texts": job.texts, "config_files": files}


def _of_plain(task: Any) -> Mapping[str, Any]:
    fields = vars(task)
    whole = fields.get("_whole_conf")
    return {**fields, "conf": json.loads(whole)} if whole else fields


def _of_mapped(task: Any, name: str, warn: Callable[[str], None]) -> Mapping[str, Any]:
    mapped = _mapped(task.expand_input.value)
    if mapped is None:
        warn(f"{name} is mapped over what another task gives: arguments that come from there are not shown.")
    elif differing := [field for field in FIELDS if field in mapped]:
        warn(f"{name} is mapped: {', '.join(differing)} of its instances differ, and are not shown.")
    return {field: value for field, value in task.partial_kwargs.items() if field in (*FIELDS, *TEXTS)}


def _mapped(value: Any) -> set[str] | None:
    """Give the arguments that differ from instance to instance; None where only a run tells."""
    if isinstance(value, Mapping):
        return set(value)
    if isinstance(value, list) and all(isinstance(item, Mapping) for item in value):
        return {field for item in value for field in item}
    return None
