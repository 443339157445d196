"""
What stops Airflow's chain of secrets backends.

Each of its chains goes on to the next backend when one raises anything but an ``AirflowSecretsBackendAccessDenied``.
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
    """A backend gives no answer, and no other may in its place."""

    def __init__(self, text: str) -> None:
        ConfigProvidersError.__init__(self, text)


class SecretDeniedError(SecretRefusedError, AccessDeniedError):
    """A provider refused."""


class SecretUnavailableError(SecretRefusedError, ProviderUnavailableError):
    """A provider or a file could not be asked, or something is defined wrongly."""


class SecretUnresolvedError(SecretRefusedError, UnresolvedReferenceError):
    """A reference has no value, and without one nothing may take its place."""


def refusal(kind: type[SecretRefusedError], text: str) -> SecretRefusedError:
    """
    Make an error of ``kind``.

    In the API server it is one that FastAPI answers with 403. For any other, the task's process would ask four times
    more and then take the secret for missing, so that a default of ``Variable.get`` would stand in for it.
    """
    server = sys.modules.get("starlette.exceptions")
    made = kind if server is None else _answered_with_403(kind, server.HTTPException)  # type: ignore[arg-type]  # hashable
    return made(text)


@cache
def _answered_with_403(kind: Any, http: Any) -> Any:
    def initialise(self: SecretRefusedError, text: str) -> None:
        self.args = self.problems = (text,)  # each parent would have arguments of its own
        vars(self).update(status_code=403, detail={"reason": "access_denied", "message": text}, headers=None)

    return type(kind.__name__, (kind, http), {"__init__": initialise, "__module__": kind.__module__})
