"""The names of Airflow that this package uses, and the differences between Airflow's versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from airflow.providers.common.compat.sdk import (
    AirflowException,
    AirflowFailException,
    AirflowNotFoundException,
    AirflowSkipException,
    AirflowTaskTimeout,
    BaseHook,
    Connection,
    TaskDeferred,
    conf,
)
from airflow.sdk import exceptions as _of_sdk
from airflow.sdk.exceptions import AirflowSecretsBackendAccessDenied

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import BaseOperator, task_decorator_factory

__all__ = [
    "SUSPENSIONS",
    "AirflowException",
    "AirflowFailException",
    "AirflowNotFoundException",
    "AirflowSecretsBackendAccessDenied",
    "AirflowSkipException",
    "AirflowTaskTimeout",
    "BaseHook",
    "BaseOperator",
    "Connection",
    "conf",
    "config_errors",
    "map_index_of",
    "task_decorator_factory",
]


SUSPENSIONS: Final[tuple[type[BaseException], ...]] = (
    TaskDeferred,
    *filter(None, [getattr(_of_sdk, "TaskAwaitingInput", None)]),  # since Airflow 3.3
)
"""What a task raises to go on later, in another process, with arguments that Airflow stores."""

_OF_DAG_FILES: Final = frozenset({"BaseOperator", "task_decorator_factory"})
"""Names that import much of the Task SDK; some of its modules read ``[database] sql_alchemy_conn`` on import."""


def config_errors() -> tuple[type[Exception], ...]:
    """Return what reading a setting raises. Which of the two classes it is depends on the process."""
    from airflow import exceptions  # noqa: PLC0415 - only an error needs these two
    from airflow.sdk import exceptions as sdk_exceptions  # noqa: PLC0415 - as above

    return exceptions.AirflowConfigException, sdk_exceptions.AirflowConfigException


def __getattr__(name: str) -> Any:
    """Import what only DAG files need on first use: our secrets backend can be asked for that very setting."""
    if name not in _OF_DAG_FILES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from airflow.providers.common.compat import sdk  # noqa: PLC0415 - see above

    return getattr(sdk, name)


def map_index_of(model: Any) -> Any:
    """Return the column of a model of Airflow's that says which instance of a mapped task a row belongs to."""
    return model.map_index if hasattr(model, "map_index") else model.region_index  # since Airflow 3.4
