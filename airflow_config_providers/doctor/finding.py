"""What ``doctor`` reports: a diagnosis, and the check that made it or that failed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from airflow_config_providers.core.diagnosis import Diagnosis, fault, of_problem
from airflow_config_providers.core.text import one_line
from airflow_config_providers.core.timely import CallOutcome


@dataclass(frozen=True, slots=True)
class CheckResult:
    """A diagnosis of the check with this name."""

    check: str
    diagnosis: Diagnosis

    def row(self) -> dict[str, Any]:
        """Return the finding for people and programs."""
        return {
            "check": self.check,
            "severity": self.diagnosis.severity.value,
            "what": one_line(self.diagnosis.what),
            "way_out": one_line(self.diagnosis.way_out),
        }


def failures(outcome: CallOutcome[Any], patience: float) -> Iterator[Diagnosis]:
    """Yield why a check, or a part of it, has no result."""
    yield from map(of_problem, outcome.problems)
    if outcome.is_late:
        yield fault(f"The check did not end within {patience:g} seconds.", "Repeat it alone with --only and --timeout.")
    if outcome.failure:
        yield fault(f"The check failed with {outcome.failure}.", "Run it where Airflow and its database are installed.")
