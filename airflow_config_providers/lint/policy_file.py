"""Finds what is wrong with a file of policies."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_config_providers.exceptions import ConfigProvidersError
from airflow_config_providers.job.policies import open_policies
from airflow_config_providers.lint.finding import Finding
from airflow_config_providers.lint.located import located
from airflow_config_providers.lint.rules import POLICY_FILE


def check(path: str) -> Iterator[Finding]:
    """Yield the problems with the policies at ``path``, with the classes that this deployment allows."""
    try:
        with open_policies(path):
            return
    except ConfigProvidersError as error:
        problems = error.problems
    yield from (Finding(POLICY_FILE, *located(problem, path)) for problem in problems)
