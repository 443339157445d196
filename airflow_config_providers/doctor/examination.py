"""Runs checks one after the other, each for a limited time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from airflow_config_providers.core.diagnosis import Diagnosis, fault, of_problem
from airflow_config_providers.core.timely import CallOutcome, call_each
from airflow_config_providers.doctor.check import Check, Site
from airflow_config_providers.doctor.finding import CheckResult


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
    outcome = call_each({"": lambda: list(check(site))}, patience=site.patience)[""]
    return outcome.value if outcome.value is not None else list(_failures(outcome, site.patience))


def _failures(outcome: CallOutcome[list[Diagnosis]], patience: float) -> Iterator[Diagnosis]:
    yield from map(of_problem, outcome.problems)
    if outcome.is_late:
        yield fault(f"The check did not end within {patience:g} seconds.", "Repeat it alone with --only and --timeout.")
    if outcome.failure:
        yield fault(f"The check failed with {outcome.failure}.", "Run it where Airflow and its database are installed.")
