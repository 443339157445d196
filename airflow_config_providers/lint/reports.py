"""Reports of findings: as lines, as JSON, as SARIF and as JUnit's XML."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from airflow_config_providers.lint.finding import Finding
from airflow_config_providers.lint.junit import junit
from airflow_config_providers.lint.sarif import sarif

Report = Callable[[Sequence[Finding], Sequence[str]], str]
"""Returns the report of findings in the files that were checked, without a final line end."""


def _plain(findings: Sequence[Finding], files: Sequence[str]) -> str:
    return "\n".join(map(str, findings))


def _json(findings: Sequence[Finding], files: Sequence[str]) -> str:
    return json.dumps([finding.row() for finding in findings], indent=2)


REPORTS: Final[Mapping[str, Report]] = {"plain": _plain, "json": _json, "sarif": sarif, "junit": junit}
"""Format -> its report."""
