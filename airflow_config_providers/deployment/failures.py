"""The ways in which a request can fail, under their names in the REST interface."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from airflow_config_providers.exceptions import (
    ConfigProvidersError,
    ForbiddenError,
    MalformedRequestError,
    PolicyViolation,
    ProviderUnavailableError,
    StaleVersionError,
    UnknownResourceError,
)

NOT_FOUND: Final = (
    "Correct the name. If you have just added it, Airflow has not read the file yet: wait, or run airflow dags "
    "reserialize."
)
"""What to do if there is no such DAG or task."""


@dataclass(frozen=True, slots=True)
class Failure:
    """
    A way in which a request fails.

    :param kind: its name in an answer
    :param error: the class of the error in Python
    :param status: the HTTP status of the answer
    """

    kind: str
    error: type[ConfigProvidersError]
    status: int


FAILURES: Final = (
    Failure("malformed", MalformedRequestError, 400),
    Failure("forbidden", ForbiddenError, 403),
    Failure("unauthenticated", ForbiddenError, 401),
    Failure("denied", PolicyViolation, 403),
    Failure("unknown", UnknownResourceError, 404),
    Failure("stale", StaleVersionError, 409),
    Failure("unavailable", ProviderUnavailableError, 503),
    Failure("failed", ProviderUnavailableError, 500),
    Failure("refused", ConfigProvidersError, 422),
)
"""Subclasses come before their bases; the first that fits an error wins."""


def failure_of(error: ConfigProvidersError) -> Failure:
    """Return the failure that describes ``error``."""
    return next(failure for failure in FAILURES if isinstance(error, failure.error))


def error_of(kind: str) -> type[ConfigProvidersError] | None:
    """Return the error class of ``kind``; None if there is no such kind."""
    return next((failure.error for failure in FAILURES if failure.kind == kind), None)
