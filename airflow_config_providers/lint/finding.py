"""What ``lint`` finds: a mistake and its place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final

from airflow_config_providers.core.text import first_of, grouped, one_line


class FindingLevel(Enum):
    """How much a finding matters, in the words of SARIF."""

    ERROR = "error"
    """A run fails, or a secret can be seen."""
    WARNING = "warning"
    """A run does something else than its author meant."""
    NOTE = "note"
    """It works, but something that was written has no effect."""


@dataclass(frozen=True, slots=True)
class Rule:
    """
    A kind of mistake.

    :param code: what ``--select`` and ``--ignore`` take
    :param name: a name for reports, in words
    :param help: the mistake in one sentence
    """

    code: str
    name: str
    severity: FindingLevel
    help: str


_ERROR, _WARNING, _NOTE = FindingLevel.ERROR, FindingLevel.WARNING, FindingLevel.NOTE

DAG_IMPORT: Final = Rule("CP001", "dag-import", _ERROR, "The DAG file cannot be imported.")
DAG_TIMEOUT: Final = Rule("CP002", "dag-timeout", _ERROR, "Importing the DAG file takes too long.")
LAYER_FILE: Final = Rule("CP003", "layer-file", _ERROR, "The layer file cannot be read.")
POLICY_FILE: Final = Rule("CP004", "policy-file", _ERROR, "The policies do not load.")
MALFORMED: Final = Rule("CP101", "malformed-reference", _ERROR, "A reference is malformed.")
UNKNOWN: Final = Rule("CP102", "unknown-provider", _ERROR, "A reference names an unknown provider.")
UNCONFIGURED: Final = Rule(
    "CP103", "unconfigured-operator", _ERROR, "An operator that does not resolve references holds one."
)
UNRESOLVED: Final = Rule(
    "CP104", "unresolved-argument", _ERROR, "An argument in which nothing is resolved holds a reference."
)
EXPOSED: Final = Rule("CP105", "exposed-reference", _ERROR, "A reference is where other people could read its value.")
TAKEN_FOR_VALUE: Final = Rule(
    "CP106", "reference-for-value", _WARNING, "A class would use a reference as the value of a field of its own."
)
UNREAD_DEFINITION: Final = Rule(
    "CP107", "unread-definition", _ERROR, "The definition of a provider has a key that nothing reads."
)
LITERAL_SECRET: Final = Rule("CP201", "literal-secret", _ERROR, "A secret is written out.")
IGNORED_KEY: Final = Rule("CP301", "ignored-key", _ERROR, "Spark ignores the key.")
MISSPELT_KEY: Final = Rule("CP302", "misspelt-key", _WARNING, "The name of a key is probably misspelt.")
DEPRECATED_KEY: Final = Rule("CP303", "deprecated-key", _WARNING, "Another key has replaced the key.")
WRONG_TYPE: Final = Rule("CP304", "wrong-type", _ERROR, "A value does not have the type of its key.")
REFUSED_KEY: Final = Rule("CP305", "refused-key", _ERROR, "The key is not allowed in a layer.")
ABSENT_KEY: Final = Rule("CP306", "absent-key", _WARNING, "The Spark of this machine does not have the key.")
UNSTORABLE: Final = Rule(
    "CP307", "unstorable-string", _ERROR, "Airflow's database cannot store an argument of the task."
)
REPEATED_KEY: Final = Rule("CP401", "repeated-key", _ERROR, "A layer file sets a key twice.")
DEAD_OVERRIDE: Final = Rule("CP402", "dead-override", _NOTE, "A value loses in every task that reads it.")

RULES: Final = (
    *(DAG_IMPORT, DAG_TIMEOUT, LAYER_FILE, POLICY_FILE),
    *(MALFORMED, UNKNOWN, UNCONFIGURED, UNRESOLVED, EXPOSED, TAKEN_FOR_VALUE, UNREAD_DEFINITION),
    LITERAL_SECRET,
    *(IGNORED_KEY, MISSPELT_KEY, DEPRECATED_KEY, WRONG_TYPE, REFUSED_KEY, ABSENT_KEY, UNSTORABLE),
    *(REPEATED_KEY, DEAD_OVERRIDE),
)
"""All rules, by code."""

UNREAD: Final = frozenset({DAG_IMPORT, DAG_TIMEOUT, LAYER_FILE})
"""The rules of files that could not be read, so that what they contain was not checked."""


@dataclass(frozen=True, slots=True)
class RuleSelection:
    """
    The rules that apply. A code also means the codes that begin with it: ``CP1`` is ``CP101`` and its neighbours.

    :param select: codes; empty for all rules
    :param ignore: codes that do not apply, even if selected
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def has(self, rule: Rule) -> bool:
        """Return whether ``rule`` applies."""
        return rule.code.startswith(self.select or ("",)) and not (self.ignore and rule.code.startswith(self.ignore))

    def unknown(self) -> list[str]:
        """Return the codes that no rule has."""
        return [code for code in (*self.select, *self.ignore) if not any(one.code.startswith(code) for one in RULES)]


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
    tasks = grouped((replace(one, place=replace(one.place, task="")), one.place.task) for one in findings)
    merged = (
        replace(one, place=replace(one.place, task=first_of(names, most=1, noun="task")))
        for one, names in tasks.items()
    )
    return sorted(merged, key=lambda one: (one.place.path, one.place.line or 0, one.rule.code, one.text))
