"""A mapped task as Airflow stores it: what its author wrote for all its instances."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import SimpleNamespace
from typing import Any, Final

from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.operators.job_layers import jdbc_layers
from airflow_config_providers.operators.stored_job import StoredJob
from airflow_config_providers.operators.supported import SUPPORTED, OperatorSpec
from airflow_config_providers.spark import arguments, exposure

TEXTS: Final = ("env_vars", *exposure.FIELDS)
"""The arguments of a submission that are no configuration and may hold references too."""

NO_LAYERS: Final = "{}: it has no Spark configuration that stands in one place, so what it has itself is not shown."
"""For a step that is a command, a file that a run reads, and several clusters."""

_FILES: Final = ("config_files", "properties_file")
_SUBMISSION: Final = (*_FILES, "conf", *arguments.KEYS)
_JDBC: Final = (*_FILES, "spark_conf", *arguments.JDBC_KEYS)

_DECORATED: Final = {
    "airflow.providers.apache.spark.decorators.pyspark._PySparkDecoratedOperator": (
        "airflow.providers.apache.spark.operators.spark_pyspark.PySparkOperator"
    )
}
"""Class behind a decorator -> the one that it is like."""

Warn = Callable[[str], None]


def is_jdbc(task: Any) -> bool:
    """Tell whether a stored task is one of ``SparkJDBCOperator``, or of its class of this package."""
    return _path(task) in (
        "airflow.providers.apache.spark.operators.spark_jdbc.SparkJDBCOperator",
        "airflow_config_providers.operators.spark_jdbc.ConfiguredSparkJDBCOperator",
    )


def stored_spec(task: Any) -> OperatorSpec | None:
    """Return what is known of a stored task's operator; None for a class of somebody's own: its bases are unknown."""
    return SUPPORTED.get(_DECORATED.get(_path(task), _path(task)))


def of_submission(task: Any, name: str, warn: Warn) -> Mapping[str, Any]:
    """Give the arguments of an operator of spark-submit."""
    _tell_differing(task, name, warn, _SUBMISSION.__contains__)
    return given(task, (*_SUBMISSION, *TEXTS))


def of_other(task: Any, name: str, warn: Warn) -> Mapping[str, Any]:
    """Give the layers, texts and files of an operator that keeps its configuration in a place of its own."""
    spec = OperatorSpec() if is_jdbc(task) else stored_spec(task)
    if spec is None:
        warn(f"{name}: only a run tells what its author wrote, because {task.task_type} is mapped, and not well known.")
        return given(task, _FILES)
    _tell_differing(task, name, warn, _JDBC.__contains__ if is_jdbc(task) else spec.makes_conf)
    try:
        job = _jdbc(task) if is_jdbc(task) else _in_place(task, spec)
    except ConfigException:
        warn(f"{name}: only a run tells what its author wrote, because it is filled in.")
        return given(task, _FILES)
    if not job.layers:
        warn(NO_LAYERS.format(name))
    return {**given(task, (*_FILES, *TEXTS) if is_jdbc(task) else _FILES), "layers": job.layers, "texts": job.texts}


def _jdbc(task: Any) -> StoredJob:
    return StoredJob.of(jdbc_layers(SimpleNamespace(**given(task, _JDBC))), {})


def _in_place(task: Any, spec: OperatorSpec) -> StoredJob:
    defaults = given(task, spec.argument_names(task.template_fields))
    return StoredJob.of_arguments(spec, {**defaults, **task.partial_kwargs}, task.template_fields)


def given(task: Any, names: Collection[str]) -> dict[str, Any]:
    """
    Return those of the arguments ``names`` that all instances have.

    As Airflow makes an instance: what ``expand`` and ``partial`` have is not looked for in the ``default_args``.
    """
    differing = _differing(task) or ()
    defaults = {name: value for name, value in task.dag.default_args.items() if name not in differing}
    return {name: value for name, value in {**defaults, **task.partial_kwargs}.items() if name in names}


def _tell_differing(task: Any, name: str, warn: Warn, is_shown: Callable[[str], bool]) -> None:
    if task.task_group is not None and task.task_group.group_id is not None:
        warn(f"{name} is mapped, and in a group: Airflow does not store the default_args of the group for it.")
    differing = _differing(task)
    if differing is None:
        warn(f"{name} is mapped over what another task gives: arguments that come from there are not shown.")
    elif shown := [field for field in differing if field in _FILES or is_shown(field)]:
        warn(f"{name} is mapped: {', '.join(shown)} of its instances differ, and are not shown.")


def _differing(task: Any) -> list[str] | None:
    """Return the arguments that differ from instance to instance, sorted; None where only a run tells."""
    if task._expand_input_attr != "expand_input":  # only the arguments of a decorated function differ
        return []
    return _mapped(task.expand_input.value)


def _mapped(value: Any) -> list[str] | None:
    """Return the arguments that an operator is mapped over, sorted; None where only a run tells."""
    if isinstance(value, Mapping):
        return sorted(value)
    if isinstance(value, list) and all(isinstance(item, Mapping) for item in value):
        return sorted({field for item in value for field in item})
    return None


def _path(task: Any) -> str:
    return f"{task._task_module}.{task.task_type}"
