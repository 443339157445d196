"""What ``doctor`` reports: a diagnosis, and the check that made it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow_config_providers.core.diagnosis import Diagnosis
from airflow_config_providers.core.text import one_line


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
