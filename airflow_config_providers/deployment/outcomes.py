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
class Outcome:
    """
    A way in which a request fails.

    :param kind: its name in an answer
    :param error: the class of the error in Python
    :param status: the HTTP status of the answer
    """

    kind: str
    error: type[ConfigProvidersError]
    status: int


OUTCOMES: Final = (
    Outcome("malformed", MalformedRequestError, 400),
    Outcome("forbidden", ForbiddenError, 403),
    Outcome("unauthenticated", ForbiddenError, 401),
    Outcome("denied", PolicyViolation, 403),
    Outcome("unknown", UnknownResourceError, 404),
    Outcome("stale", StaleVersionError, 409),
    Outcome("unavailable", ProviderUnavailableError, 503),
    Outcome("failed", ProviderUnavailableError, 500),
    Outcome("refused", ConfigProvidersError, 422),
)
"""Subclasses come before their bases; the first that fits an error wins."""


def outcome_of(error: ConfigProvidersError) -> Outcome:
    """Return the outcome of ``error``."""
    return next(outcome for outcome in OUTCOMES if isinstance(error, outcome.error))


def error_of(kind: str) -> type[ConfigProvidersError] | None:
    """Return the error class of ``kind``; None if there is no such kind."""
    return next((outcome.error for outcome in OUTCOMES if outcome.kind == kind), None)
