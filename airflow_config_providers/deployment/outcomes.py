"""How requests end, as answers of the REST interface name it."""

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
    "Correct the name. If it is new in its file, Airflow has not read the file yet: wait, or run airflow dags "
    "reserialize."
)
"""The way out where there is no such DAG or task."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """
    A way to fail.

    :param kind: its name in an answer
    :param error: what it is in Python
    :param status: of the answer
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
"""The more special before the more general; an error is the first one that fits."""


def outcome_of(error: ConfigProvidersError) -> Outcome:
    """Give the outcome that stands for ``error``."""
    return next(outcome for outcome in OUTCOMES if isinstance(error, outcome.error))


def error_of(kind: str) -> type[ConfigProvidersError] | None:
    """Give what ``kind`` stands for; None where it is no kind."""
    return next((outcome.error for outcome in OUTCOMES if outcome.kind == kind), None)
