"""Runs checks one after the other, each for a limited time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_config_providers.core.concurrency.timed_calls import CallOutcome, call_each
from airflow_config_providers.core.diagnosis import Diagnosis, fault, of_problem
from airflow_config_providers.core.text import counted, one_line


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
        yield fault(
            f"The check did not end within {counted(patience, 'second')}.", "Repeat it alone with --only and --timeout."
        )
    if outcome.failure:
        yield fault(f"The check failed with {outcome.failure}.", _way_out(outcome))


def _way_out(outcome: CallOutcome[Any]) -> str:
    if outcome.needs_home:
        return f"Set HOME: it is not set, and user {os.getuid()}, who has no entry in /etc/passwd, has no other home."
    return "Run it where Airflow and its database are installed."


@dataclass(frozen=True, slots=True)
class Site:
    """
    The place where checks run.

    :param conn_id: the connection that defines the providers
    :param is_named: whether someone named that connection, so that it must exist
    :param environ: the environment of this process
    :param patience: the seconds that one check may take
    """

    conn_id: str
    is_named: bool = False
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    patience: float = 30.0


Check = Callable[[Site], Iterable[Diagnosis]]
"""
Returns what is found in one part of the deployment, without any resolved value.

:raises ConfigProvidersError: the part cannot be looked at
"""


@dataclass(frozen=True, slots=True)
class PatientCheck:
    """
    A check that limits its own time, so that it can name what is late: it is not stopped from outside.

    :param check: waits for nothing longer than the patience of the site
    """

    check: Check

    def __call__(self, site: Site) -> Iterable[Diagnosis]:
        """Return what is found."""
        return self.check(site)


def examine(checks: Mapping[str, Check], site: Site, *, tick: Callable[[], object]) -> Iterator[CheckResult]:
    """
    Yield what each of ``checks`` finds. A check that fails or hangs is a finding itself.

    :param tick: is called after each check
    """
    for name, check in checks.items():
        for diagnosis in _diagnoses(check, site):
            yield CheckResult(name, diagnosis)
        tick()


def _diagnoses(check: Check, site: Site) -> list[Diagnosis]:
    patience = None if isinstance(check, PatientCheck) else site.patience
    outcome = call_each({"": lambda: list(check(site))}, patience=patience)[""]
    return outcome.value if outcome.value is not None else list(failures(outcome, site.patience))
