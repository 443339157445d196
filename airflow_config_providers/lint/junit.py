"""Findings as JUnit's XML, which CI servers show as tests."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence

from airflow_config_providers.core.text import one_line
from airflow_config_providers.lint.finding import Finding
from airflow_config_providers.lint.rules import FindingLevel


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
