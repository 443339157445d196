"""Reports of findings: as lines, as JSON, as SARIF and as JUnit's XML."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from airflow_config_providers import __version__
from airflow_config_providers.core.text import octets, one_line
from airflow_config_providers.lint.finding import RULES, Finding, FindingLevel


def junit(findings: Sequence[Finding], files: Sequence[str]) -> str:
    """Return a test suite: a test for each finding, which fails unless it is a note, and one for each other file."""
    with_findings = {finding.place.path for finding in findings}
    clean = [_test(path, "lint") for path in files if path not in with_findings]
    cases = [*clean, *map(_found, findings)]
    failures = str(sum(case.find("failure") is not None for case in cases))
    counts = {"tests": str(len(cases)), "failures": failures, "errors": "0"}
    suites = ET.Element("testsuites", counts)
    ET.SubElement(suites, "testsuite", {"name": "config-providers-lint", **counts}).extend(cases)
    ET.indent(suites)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(suites, encoding="unicode")


def _test(path: str, name: str) -> ET.Element:
    return ET.Element("testcase", {"classname": one_line(path), "name": one_line(name)})


def _found(finding: Finding) -> ET.Element:
    case = _test(finding.place.path, " ".join(_name(finding)))
    if finding.rule.severity is FindingLevel.NOTE:
        ET.SubElement(case, "system-out").text = str(finding)
    else:
        attributes = {"type": finding.rule.code, "message": finding.text}
        ET.SubElement(case, "failure", attributes).text = str(finding)
    return case


def _name(finding: Finding) -> Iterator[str]:
    yield finding.rule.code
    if finding.place.line is not None:
        yield f"line {finding.place.line}"
    if finding.place.task:
        yield finding.place.task


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


Report = Callable[[Sequence[Finding], Sequence[str]], str]
"""Returns the report of findings in the files that were checked, without a final line end."""


def _plain(findings: Sequence[Finding], files: Sequence[str]) -> str:
    return "\n".join(map(str, findings))


def _json(findings: Sequence[Finding], files: Sequence[str]) -> str:
    return json.dumps([finding.row() for finding in findings], indent=2)


REPORTS: Final[Mapping[str, Report]] = {"plain": _plain, "json": _json, "sarif": sarif, "junit": junit}
"""Format -> its report."""
