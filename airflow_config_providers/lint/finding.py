"""What ``lint`` finds: a mistake and its place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from airflow_config_providers.core.text import one_line
from airflow_config_providers.lint.rules import Rule


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """
    A place in a file.

    :param line: counted from 1; None if it is unknown
    :param task: the task, as ``dag.task``; empty for the file itself
    """

    path: str
    line: int | None = None
    task: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """
    A mistake. It shows keys and references, but never a value.

    :param message: one sentence or more, without the place
    """

    rule: Rule
    place: SourcePlace
    message: str

    def __str__(self) -> str:
        line = "" if self.place.line is None else f":{self.place.line}"
        return f"{one_line(self.place.path)}{line}: {self.rule.code} {self.text}"

    @property
    def text(self) -> str:
        """The message with the task, on one line."""
        return one_line(f"{self.place.task}: {self.message}" if self.place.task else self.message)

    def row(self) -> dict[str, Any]:
        """Return the finding for programs."""
        return {
            "file": self.place.path,
            "line": self.place.line,
            "code": self.rule.code,
            "rule": self.rule.name,
            "severity": self.rule.severity.value,
            "task": self.place.task or None,
            "message": self.message,
        }


def sorted_findings(findings: Iterable[Finding]) -> list[Finding]:
    """Return ``findings`` by place. A loop makes many tasks of one line: such findings become one."""
    tasks: dict[Finding, dict[str, None]] = {}
    for one in findings:
        without_task = Finding(one.rule, SourcePlace(one.place.path, one.place.line), one.message)
        tasks.setdefault(without_task, {})[one.place.task] = None
    merged = [
        Finding(one.rule, SourcePlace(one.place.path, one.place.line, _named(list(names))), one.message)
        for one, names in tasks.items()
    ]
    return sorted(merged, key=lambda one: (one.place.path, one.place.line or 0, one.rule.code, one.text))


def _named(tasks: list[str]) -> str:
    others = len(tasks) - 1
    return f"{tasks[0]} and {others} more task{'s' * (others > 1)}" if others else tasks[0]
