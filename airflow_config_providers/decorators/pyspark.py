"""``@task.pyspark`` with layers and references."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from airflow.providers.apache.spark.decorators.pyspark import _PySparkDecoratedOperator

from airflow_config_providers.airflow_compat import task_decorator_factory
from airflow_config_providers.operators.configure import configured


def configured_pyspark_task(
    python_callable: Callable[..., Any] | None = None, multiple_outputs: bool | None = None, **kwargs: Any
) -> Any:
    """
    Turn a function that uses Spark into a task: ``@task.configured_pyspark``.

    It takes the arguments of ``@task.pyspark`` and of ``ConfiguredOperator``. ``config_kwargs`` is one of the layers.
    It and the function's arguments can hold references. What the function returns is stored with references in place
    of their values.
    """
    return task_decorator_factory(
        python_callable=python_callable,
        multiple_outputs=multiple_outputs,
        decorated_operator_class=configured(_PySparkDecoratedOperator),
        **kwargs,
    )
