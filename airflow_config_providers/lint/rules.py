"""The rules of ``lint``, each with a code that never changes its meaning."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final


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


DAG_IMPORT: Final = Rule("CP001", "dag-import", FindingLevel.ERROR, "The DAG file cannot be imported.")
DAG_TIMEOUT: Final = Rule("CP002", "dag-timeout", FindingLevel.ERROR, "Importing the DAG file takes too long.")
LAYER_FILE: Final = Rule("CP003", "layer-file", FindingLevel.ERROR, "The layer file cannot be read.")
POLICY_FILE: Final = Rule("CP004", "policy-file", FindingLevel.ERROR, "The policies do not load.")
MALFORMED: Final = Rule("CP101", "malformed-reference", FindingLevel.ERROR, "A reference is malformed.")
UNKNOWN: Final = Rule("CP102", "unknown-provider", FindingLevel.ERROR, "A reference names an unknown provider.")
UNCONFIGURED: Final = Rule(
    "CP103", "unconfigured-operator", FindingLevel.ERROR, "An operator that does not resolve references holds one."
)
LITERAL_SECRET: Final = Rule("CP201", "literal-secret", FindingLevel.ERROR, "A secret is written out.")
IGNORED_KEY: Final = Rule("CP301", "ignored-key", FindingLevel.ERROR, "Spark ignores the key.")
MISSPELT_KEY: Final = Rule("CP302", "misspelt-key", FindingLevel.WARNING, "The name of a key is probably misspelt.")
DEPRECATED_KEY: Final = Rule("CP303", "deprecated-key", FindingLevel.WARNING, "Another key has replaced the key.")
WRONG_TYPE: Final = Rule("CP304", "wrong-type", FindingLevel.ERROR, "A value does not have the type of its key.")
REFUSED_KEY: Final = Rule("CP305", "refused-key", FindingLevel.ERROR, "The key is not allowed in a layer.")
ABSENT_KEY: Final = Rule(
    "CP306", "absent-key", FindingLevel.WARNING, "The Spark of this machine does not have the key."
)
REPEATED_KEY: Final = Rule("CP401", "repeated-key", FindingLevel.ERROR, "A layer file sets a key twice.")
DEAD_OVERRIDE: Final = Rule("CP402", "dead-override", FindingLevel.NOTE, "A value loses in every task that reads it.")

RULES: Final = (
    *(DAG_IMPORT, DAG_TIMEOUT, LAYER_FILE, POLICY_FILE),
    *(MALFORMED, UNKNOWN, UNCONFIGURED),
    LITERAL_SECRET,
    *(IGNORED_KEY, MISSPELT_KEY, DEPRECATED_KEY, WRONG_TYPE, REFUSED_KEY, ABSENT_KEY),
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
