"""What the author of a mapped task wrote for all its instances, read from the stored DAG."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import SimpleNamespace
from typing import Any, Final

from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.job.job_layers import jdbc_layers
from airflow_config_providers.job.stored_job import StoredJob
from airflow_config_providers.job.supported import SUPPORTED, OperatorSpec
from airflow_config_providers.spark import arguments, exposure

TEXTS: Final = ("env_vars", *exposure.FIELDS)
"""The arguments of a submission that may hold references, besides its configuration."""

NO_LAYERS: Final = "{}: its Spark configuration is not in a single place, so what the DAG sets is not shown."
"""Such as for a step that is a command, a file that is read in the run, or several clusters."""

KNOWN_IN_RUN: Final = "{}: what the DAG sets is known only in a run, which fills in the configuration."

_FILES: Final = ("config_files", "properties_file")
_SUBMISSION: Final = (*_FILES, "conf", *arguments.KEYS)
_JDBC: Final = (*_FILES, "spark_conf", *arguments.JDBC_KEYS)

_DECORATED: Final = {
    "airflow.providers.apache.spark.decorators.pyspark._PySparkDecoratedOperator": (
        "airflow.providers.apache.spark.operators.spark_pyspark.PySparkOperator"
    )
}
"""Class behind a decorator -> the operator whose arguments it takes."""

Warn = Callable[[str], None]


def is_jdbc(task: Any) -> bool:
    """Return whether a stored task is a ``SparkJDBCOperator``, stock or of this package."""
    return _path(task) in (
        "airflow.providers.apache.spark.operators.spark_jdbc.SparkJDBCOperator",
        "airflow_config_providers.operators.spark_jdbc.ConfiguredSparkJDBCOperator",
    )


def stored_spec(task: Any) -> OperatorSpec | None:
    """Return the description of a stored task's operator; None for a custom class, whose bases are not stored."""
    return SUPPORTED.get(_DECORATED.get(_path(task), _path(task)))


def of_submission(task: Any, name: str, warn: Warn) -> Mapping[str, Any]:
    """Return the arguments of an operator of spark-submit."""
    _warn_of_differing(task, name, warn, _SUBMISSION.__contains__)
    return given(task, (*_SUBMISSION, *TEXTS))


def of_other(task: Any, name: str, warn: Warn) -> Mapping[str, Any]:
    """Return the layers, texts and files of any other operator."""
    spec = OperatorSpec() if is_jdbc(task) else stored_spec(task)
    if spec is None:
        warn(f"{name}: what the DAG sets is not shown, because it is mapped and {task.task_type} is a custom operator.")
        return given(task, _FILES)
    _warn_of_differing(task, name, warn, _JDBC.__contains__ if is_jdbc(task) else spec.makes_conf)
    try:
        job = _jdbc(task) if is_jdbc(task) else _in_place(task, spec)
    except ConfigException:
        warn(KNOWN_IN_RUN.format(name))
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
    Return those of the arguments ``names`` that have the same value in all instances.

    As in Airflow, an argument in ``expand`` or ``partial`` overrides the ``default_args``.
    """
    differing = _differing(task) or ()
    defaults = {name: value for name, value in task.dag.default_args.items() if name not in differing}
    return {name: value for name, value in {**defaults, **task.partial_kwargs}.items() if name in names}


def _warn_of_differing(task: Any, name: str, warn: Warn, is_shown: Callable[[str], bool]) -> None:
    if task.task_group is not None and task.task_group.group_id is not None:
        warn(f"{name} is mapped and in a task group, whose default_args Airflow does not store. They are not shown.")
    differing = _differing(task)
    if differing is None:
        warn(f"{name} is mapped over the output of another task: arguments that come from there are not shown.")
    elif shown := [field for field in differing if field in _FILES or is_shown(field)]:
        warn(f"{name} is mapped: its instances differ in {', '.join(shown)}, which is not shown.")


def _differing(task: Any) -> list[str] | None:
    """Return the arguments that differ between instances, sorted; None if they are known only in a run."""
    if task._expand_input_attr != "expand_input":  # only the arguments of a decorated function differ
        return []
    return _mapped(task.expand_input.value)


def _mapped(value: Any) -> list[str] | None:
    """Return the arguments over which an operator is mapped, sorted; None if they are known only in a run."""
    if isinstance(value, Mapping):
        return sorted(value)
    if isinstance(value, list) and all(isinstance(item, Mapping) for item in value):
        return sorted({field for item in value for field in item})
    return None


def _path(task: Any) -> str:
    return f"{task._task_module}.{task.task_type}"
