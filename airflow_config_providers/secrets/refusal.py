"""
Errors that stop Airflow's chain of secrets backends.

Airflow goes on to the next backend after any error except ``AirflowSecretsBackendAccessDenied``.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from airflow_config_providers.airflow_compat import AirflowSecretsBackendAccessDenied
from airflow_config_providers.exceptions import (
    AccessDeniedError,
    ConfigProvidersError,
    ProviderUnavailableError,
    UnresolvedReferenceError,
)


class SecretRefusedError(AirflowSecretsBackendAccessDenied, ConfigProvidersError):
    """The backend does not answer, and no other backend may answer instead."""

    def __init__(self, text: str) -> None:
        ConfigProvidersError.__init__(self, text)


class SecretDeniedError(SecretRefusedError, AccessDeniedError):
    """A provider refused to answer."""


class SecretUnavailableError(SecretRefusedError, ProviderUnavailableError):
    """A provider or a file is unavailable, or a definition is wrong."""


class SecretUnresolvedError(SecretRefusedError, UnresolvedReferenceError):
    """A reference has no value, and no default may replace it."""


def refusal(kind: type[SecretRefusedError], text: str) -> SecretRefusedError:
    """
    Return an error of ``kind``.

    In the API server, FastAPI answers it with 403. With another status, the task's process would ask four more times
    and then treat the secret as missing, so that ``Variable.get`` would return its default.
    """
    http = getattr(sys.modules.get("starlette.exceptions"), "HTTPException", None)  # another thread can be importing it
    made = kind if http is None else _answered_with_403(kind, http)  # type: ignore[arg-type]  # hashable
    return made(text)


@cache
def _answered_with_403(kind: Any, http: Any) -> Any:
    def initialise(self: SecretRefusedError, text: str) -> None:
        self.args = self.problems = (text,)  # each base class would set its own
        vars(self).update(status_code=403, detail={"reason": "access_denied", "message": text}, headers=None)

    def reduce(self: SecretRefusedError) -> tuple[Any, ...]:  # pickle finds only ``kind`` by its name
        return refusal, (kind, *self.args)

    members = {"__init__": initialise, "__reduce__": reduce, "__module__": kind.__module__}
    return type(kind.__name__, (kind, http), members)
