"""What an examination of a deployment finds: what is right or wrong, and how to mend it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol, runtime_checkable


class Severity(Enum):
    """How much a diagnosis matters."""

    OK = "ok"
    """It works."""
    WARNING = "warning"
    """It works now, or only for some."""
    ERROR = "error"
    """It does not work, or it is not safe."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """
    One thing that was examined. It never contains a resolved value, a password or a token.

    :param what: what was found, in one sentence
    :param way_out: the command, the setting or the act that mends it; empty if nothing is wrong
    """

    severity: Severity
    what: str
    way_out: str = ""


@runtime_checkable
class Diagnosing(Protocol):
    """A provider that can say more about itself than whether it can answer."""

    def diagnose(self) -> Iterable[Diagnosis]:
        """
        Examine the provider, reading no secret.

        :raises ConfigProvidersError: it cannot answer; the rest is then unknown
        """


def fine(what: str) -> Diagnosis:
    """Return the diagnosis of what works."""
    return Diagnosis(Severity.OK, what)


def doubt(what: str, way_out: str) -> Diagnosis:
    """Return the diagnosis of what works now, or only for some."""
    return Diagnosis(Severity.WARNING, what, way_out)


def fault(what: str, way_out: str = "") -> Diagnosis:
    """Return the diagnosis of what does not work, or is not safe."""
    return Diagnosis(Severity.ERROR, what, way_out)


_BETWEEN_SENTENCES: Final = re.compile(r"(?<=[.?]) ")


def of_problem(problem: str) -> Diagnosis:
    """Return the diagnosis of a problem of one of our errors, whose first sentence says what, and the others how."""
    what, *way_out = _BETWEEN_SENTENCES.split(problem, maxsplit=1)
    return fault(what, *way_out)
