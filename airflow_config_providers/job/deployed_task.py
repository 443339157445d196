"""The job of a deployed task, as its author wrote it, without running the task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from airflow_config_providers import settings
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.foreign import STORED_MAPPED, require
from airflow_config_providers.job.authored_job import NO_OPTIONS, STORED, AuthoredJob, JobOptions
from airflow_config_providers.job.fields import OURS, JobFields
from airflow_config_providers.job.mapped_task import differing_arguments, shared_arguments
from airflow_config_providers.job.operator_specs import OperatorSpec, spec_of_path

Warn = Callable[[str], None]

_NO_LAYERS: Final = (
    "{}: its Spark configuration is in a file that a run reads, or in several places, so what the DAG sets is not "
    "shown."
)
"""In several places if the job starts several clusters."""

_KNOWN_IN_RUN: Final = (
    "{}: what the DAG sets is known only in a run, which fills in the configuration, or refuses it because it is "
    "not a mapping of keys to strings, numbers and booleans."
)

_PARTLY_KNOWN: Final = "{}: not shown, because only a run fills it in: {}."

_APPLY_TO: Final = (
    " To configure it, set apply_to in [config_providers], and remove the tag config_providers:off if its DAG has it."
)

_APPLY_TO_SET: Final = (
    " apply_to in [config_providers] is set here: add the family of the operator if it is not in it, remove the tag "
    "config_providers:off if its DAG has it, and restart the DAG processor."
)

_CUSTOM: Final = OperatorSpec(takes_properties_file=True)


def is_configured(task: Any) -> bool:
    """Return whether this package configures ``task``, which is from a serialized DAG."""
    return OURS[-1] in task.template_fields


def stored_spec(task: Any) -> OperatorSpec | None:
    """Return the description of a stored task's operator; None for a custom class, whose bases are not stored."""
    require(STORED_MAPPED)
    return spec_of_path(f"{task._task_module}.{task.task_type}")


def deployed_job(task: Any, name: str, warn: Warn) -> AuthoredJob | None:
    """
    Return the job of ``task``; None if this package does not configure it.

    :param task: an operator of a serialized DAG, mapped or not
    :param name: its name in warnings
    :param warn: is called with each note for the reader
    """
    if not is_configured(task):
        warn(f"{name} runs {task.task_type}, an operator that this package does not configure.{_way_out(task)}")
        return None
    job = _mapped_job(task, name, warn) if task.is_mapped else _job(task)
    if not job.is_known:
        warn(_KNOWN_IN_RUN.format(name))
    elif job.unknown:
        warn(_PARTLY_KNOWN.format(name, ", ".join(map(printable, job.unknown))))
    elif not job.layers:
        spec = stored_spec(task)
        problem = spec.place_problem(task.task_type) if spec else ""
        warn(f"{name}: {problem}" if problem else _NO_LAYERS.format(name))
    return job


def _way_out(task: Any) -> str:
    if not stored_spec(task):
        return ""
    return _APPLY_TO_SET if settings.apply_to() else _APPLY_TO


def _job(task: Any) -> AuthoredJob:
    stored = vars(task).get(STORED)
    if stored is not None:
        return AuthoredJob.read(stored)
    return AuthoredJob.of_unrendered(JobFields.of_operator(task, stored_spec(task) or OperatorSpec()))


def _mapped_job(task: Any, name: str, warn: Warn) -> AuthoredJob:
    """Return what the author of a mapped task wrote for all its instances; of a custom operator, only its files."""
    spec = stored_spec(task)
    if spec is None:
        warn(f"{name}: what the DAG sets is not shown, because it is mapped and {task.task_type} is a custom operator.")
        fields = JobFields.of_arguments(_CUSTOM, shared_arguments(task, _CUSTOM.paths), ())
    else:
        _warn_of_differing(task, name, warn, spec)
        given = shared_arguments(task, spec.argument_names(task.template_fields))
        fields = JobFields.of_arguments(spec, {**given, **task.partial_kwargs}, task.template_fields)
    return AuthoredJob.of_unrendered(fields, _shared_options(task))


def deployed_options(task: Any) -> JobOptions:
    """Return the options of the job of a stored task."""
    if task.is_mapped:
        return _shared_options(task)
    stored = vars(task).get(STORED)
    return AuthoredJob.read(stored).options if stored is not None else NO_OPTIONS


def _shared_options(task: Any) -> JobOptions:
    try:
        return JobOptions.of(shared_arguments(task, JobOptions.__dataclass_fields__))
    except ConfigException:  # each run will refuse them
        return NO_OPTIONS


def _warn_of_differing(task: Any, name: str, warn: Warn, spec: OperatorSpec) -> None:
    if task.task_group is not None and task.task_group.group_id is not None:
        warn(f"{name} is mapped and in a task group, whose default_args Airflow does not store. They are not shown.")
    differing = differing_arguments(task)
    if differing is None:
        warn(f"{name} is mapped over the output of another task: arguments that come from there are not shown.")
    elif shown := [argument for argument in differing if spec.makes_layer(argument)]:
        warn(f"{name} is mapped: its instances differ in {', '.join(shown)}, which is not shown.")
