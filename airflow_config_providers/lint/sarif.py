"""Findings as SARIF 2.1.0, which code hosts show beside the changed lines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from airflow_config_providers import __version__
from airflow_config_providers.core.text import octets
from airflow_config_providers.lint.finding import Finding
from airflow_config_providers.lint.rules import RULES

_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def sarif(findings: Sequence[Finding], files: Sequence[str]) -> str:
    """Return a SARIF log with one run. Paths in it are relative to the working directory, if they are below it."""
    run = {"tool": {"driver": _driver()}, "columnKind": "unicodeCodePoints", "results": list(map(_result, findings))}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _driver() -> dict[str, Any]:
    rules = [
        {
            "id": rule.code,
            "name": rule.name,
            "shortDescription": {"text": rule.help},
            "defaultConfiguration": {"level": rule.severity.value},
        }
        for rule in RULES
    ]
    return {"name": "airflow config-providers lint", "version": __version__, "rules": rules}


def _result(finding: Finding) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(finding.place.path)}}
    if finding.place.line is not None:
        place["region"] = {"startLine": finding.place.line}
    return {
        "ruleId": finding.rule.code,
        "ruleIndex": RULES.index(finding.rule),
        "level": finding.rule.severity.value,
        "message": {"text": finding.text},
        "locations": [{"physicalLocation": place}],
    }


def _uri(path: str) -> str:
    absolute, here = Path(path).absolute(), Path.cwd()
    if absolute.is_relative_to(here):
        return quote(octets(str(absolute.relative_to(here))))
    return "file://" + quote(octets(str(absolute)))
