"""The names of Airflow that this package uses, and what differs between its versions."""

from __future__ import annotations

from airflow.providers.common.compat.sdk import (
    AirflowNotFoundException,
    BaseHook,
    BaseOperator,
    Connection,
    TaskDeferred,
    conf,
    task_decorator_factory,
)
from airflow.sdk.log import mask_secret

try:
    from airflow.sdk.exceptions import AirflowSecretsBackendAccessDenied
except ImportError:  # Task SDK before 1.2.2, where nothing keeps Airflow from asking the next secrets backend

    class AirflowSecretsBackendAccessDenied(PermissionError):  # type: ignore[no-redef]  # noqa: N818 - Airflow's name
        """A secrets backend refused."""


__all__ = [
    "AirflowNotFoundException",
    "AirflowSecretsBackendAccessDenied",
    "BaseHook",
    "BaseOperator",
    "Connection",
    "TaskDeferred",
    "conf",
    "in_task_process",
    "mask_secret",
    "task_decorator_factory",
]


def in_task_process() -> bool:
    """Tell whether a supervisor listens, as it does for a task that runs and does not for a preview."""
    from airflow.sdk.execution_time import task_runner  # noqa: PLC0415 - heavy, and not needed to parse a DAG

    return getattr(task_runner, "SUPERVISOR_COMMS", None) is not None
