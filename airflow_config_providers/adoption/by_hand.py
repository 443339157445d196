"""What a proposal leaves to people, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow_config_providers.core.text import one_line


@dataclass(frozen=True, slots=True, order=True)
class ByHand:
    """
    A place that stays as it is. It shows no value.

    :param path: the file; empty for the deployment
    :param line: counted from 1; 0 for the file itself
    :param reason: what is there, and what to do about it
    """

    path: str
    line: int
    reason: str

    def __str__(self) -> str:
        place = f"{one_line(self.path)}:{self.line}: " if self.line else f"{one_line(self.path)}: " if self.path else ""
        return f"{place}{one_line(self.reason)}"

    def row(self) -> dict[str, Any]:
        """Return the place for programs."""
        return {"file": self.path or None, "line": self.line or None, "reason": self.reason}
