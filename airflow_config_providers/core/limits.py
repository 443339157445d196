"""Limits on what one configuration can ask for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from airflow_config_providers.exceptions import LimitExceededError


@dataclass(frozen=True, slots=True)
class Limits:
    """
    Limits on one transformation, far above what a job needs and far below what a machine can take.

    :param references: references in all values together
    :param paths: distinct (provider, path) pairs, which is the number of requests
    :param characters: characters of all values together, after resolution
    """

    references: int = 100_000
    paths: int = 10_000
    characters: int = 64 * 1024 * 1024

    def check(self, name: str, count: int) -> None:
        """Raise ``LimitExceededError`` if ``count`` exceeds the limit ``name``."""
        allowed = getattr(self, name)
        if count > allowed:
            raise LimitExceededError(
                f"The configuration has {count} {name}, and {allowed} are allowed. Split the job, or raise the limit."
            )


DEFAULT_LIMITS: Final = Limits()
