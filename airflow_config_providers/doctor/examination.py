"""Runs checks one after the other, each for a limited time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from airflow_config_providers.core.diagnosis import Diagnosis
from airflow_config_providers.core.timely import call_each
from airflow_config_providers.doctor.check import Check, PatientCheck, Site
from airflow_config_providers.doctor.finding import CheckResult, failures


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
