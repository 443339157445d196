"""The names of Airflow that this package uses, and the differences between Airflow's versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from airflow.providers.common.compat.sdk import (
    AirflowFailException,
    AirflowNotFoundException,
    AirflowTaskTimeout,
    BaseHook,
    Connection,
    TaskDeferred,
    conf,
)
from airflow.sdk.exceptions import AirflowSecretsBackendAccessDenied

from airflow_config_providers.task_process import has_supervisor

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import BaseOperator, task_decorator_factory

__all__ = [
    "AirflowFailException",
    "AirflowNotFoundException",
    "AirflowSecretsBackendAccessDenied",
    "AirflowTaskTimeout",
    "BaseHook",
    "BaseOperator",
    "Connection",
    "TaskDeferred",
    "conf",
    "mask_secret",
    "masked",
    "task_decorator_factory",
]


_OF_DAG_FILES: Final = frozenset({"BaseOperator", "task_decorator_factory"})
"""Names that import much of the Task SDK; some of its modules read ``[database] sql_alchemy_conn`` on import."""


def __getattr__(name: str) -> Any:
    """Import what only DAG files need on first use: our secrets backend may be asked for that very setting."""
    if name not in _OF_DAG_FILES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from airflow.providers.common.compat import sdk  # noqa: PLC0415 - see above

    return getattr(sdk, name)


def mask_secret(secret: Any, name: str | None = None) -> None:
    """Register a secret with the masker of this process and, in a task, with the masker of its supervisor."""
    if has_supervisor():
        from airflow.sdk.log import mask_secret as mask  # noqa: PLC0415 - calling it imports much, too
    else:
        from airflow.sdk._shared.secrets_masker import mask_secret as mask  # noqa: PLC0415 - one of the two is needed

    mask(secret, name)


def masked(text: str) -> str:
    """Return ``text`` with stars in place of the secrets that this process's masker knows, as in rendered fields."""
    from airflow.sdk._shared.secrets_masker import redact  # noqa: PLC0415 - slow to import, and only a task masks

    return str(redact(text))
