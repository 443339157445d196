"""The names of Airflow that this package uses, and the differences between Airflow's versions."""

from __future__ import annotations

from collections.abc import Iterable
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

from airflow_config_providers.core.reversal.reverse import SHORTEST
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
    "mask_secrets",
    "masked",
    "task_decorator_factory",
]


_MASKED_AT_MOST: Final = 25
"""
The most values to register at a time.

The masker compiles all of them again for each one: 25 take 20 ms, and 200 take a second. It is the second safeguard,
because reversal hides values before the masker sees them.
"""

_OF_DAG_FILES: Final = frozenset({"BaseOperator", "task_decorator_factory"})
"""Names that import much of the Task SDK; some of its modules read ``[database] sql_alchemy_conn`` on import."""


def __getattr__(name: str) -> Any:
    """Import what only DAG files need on first use: our secrets backend may be asked for that very setting."""
    if name not in _OF_DAG_FILES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from airflow.providers.common.compat import sdk  # noqa: PLC0415 - see above

    return getattr(sdk, name)


def mask_secrets(values: Iterable[str], *, name: str | None = None) -> None:
    """
    Register secrets with the masker of this process and, in a task, with the masker of its supervisor.

    Those that are shorter than reversal hides are left out: the masker would not hide them either, but would log that.

    :param values: the secrets; only the ``_MASKED_AT_MOST`` longest are registered, because the short ones are more
        often names and numbers
    :param name: the name of their parameter; Airflow then masks them only if the name is that of a secret
    """
    known = {value for value in values if len(value) >= SHORTEST}
    for value in sorted(known, key=lambda value: (len(value), value))[-_MASKED_AT_MOST:]:
        _mask_secret(value, name)  # the longest is the last, so that it is compiled only once


def _mask_secret(secret: str, name: str | None) -> None:
    if has_supervisor():
        from airflow.sdk.log import mask_secret  # noqa: PLC0415 - calling it imports much, too
    else:
        from airflow.sdk._shared.secrets_masker import mask_secret  # noqa: PLC0415 - one of the two is needed

    mask_secret(secret, name)


def masked(text: str) -> str:
    """Return ``text`` with stars in place of the secrets that this process's masker knows, as in rendered fields."""
    from airflow.sdk._shared.secrets_masker import redact  # noqa: PLC0415 - slow to import, and only a task masks

    return str(redact(text))
