"""The command that finds mistakes before anything runs, and the formats of its report."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from airflow_config_providers import __version__
from airflow_config_providers.cli.arguments import seconds, separated, text_of
from airflow_config_providers.cli.failing import FOUND, INCOMPLETE, Finished, WrongArgumentsError, reporting_errors, say
from airflow_config_providers.cli.output import progress
from airflow_config_providers.core.text import first_of, how_many, octets, one_line, printable
from airflow_config_providers.exceptions import ConfigProvidersError, translating
from airflow_config_providers.lint.finding import RULES, UNREAD, Finding, FindingLevel, RuleSelection
from airflow_config_providers.lint.known_providers import KnownProviders, of_extra, of_file
from airflow_config_providers.lint.linter import lint_files
from airflow_config_providers.lint.paths import LintedPaths


@reporting_errors
def lint(args: Any) -> None:
    """Report the mistakes in files, and exit with 0 if there are none, 1 if there are, and 2 if a file was unread."""
    with translating(ConfigProvidersError, lambda error: WrongArgumentsError(*error.problems)):
        selection, paths = _selection(args), _paths(args)
        with progress(len(paths.dags)) as tick:
            outcome = lint_files(paths, selection, _providers(args), seconds=seconds(args), tick=tick)
    files = (*paths.dags, *paths.layers, *paths.policies)
    found = outcome.findings
    report = REPORTS[args.output](found, files)
    sys.stdout.write(f"{report}\n" if report else "")
    with suppress(OSError):  # the end of the command reports it, with the right code
        sys.stdout.flush()  # so that the summary comes after the report
    say(f"{how_many(len(files), 'file')} read, {how_many(len(found), 'finding')}.{_unchecked(outcome.unchecked)}\n")
    if code := _code(found):
        raise Finished(code)


def _unchecked(conn_ids: Sequence[str]) -> str:
    """Return a line that says that the names of providers were not checked; empty if all were."""
    if not conn_ids:
        return ""
    return (
        f"\nNames of providers were not checked: the environment does not define {first_of(conn_ids)}. "
        f"Use --providers or --conn-extra."
    )


def _code(found: Sequence[Finding]) -> int:
    if any(finding.rule in UNREAD for finding in found):
        return INCOMPLETE
    return FOUND if any(finding.rule.severity is not FindingLevel.NOTE for finding in found) else 0


def _paths(args: Any) -> LintedPaths:
    return (
        LintedPaths.of(args.paths, skips_other_yaml=args.skip_other_yaml) if args.paths else LintedPaths.of_deployment()
    )


def _selection(args: Any) -> RuleSelection:
    selection = RuleSelection(*(tuple(map(str.upper, separated(codes))) for codes in (args.select, args.ignore)))
    if unknown := selection.unknown():
        names = ", ".join(map(printable, unknown))
        raise WrongArgumentsError(f"No rule has the code {names}. The page 'Lint' of the reference lists the codes.")
    return selection


def _providers(args: Any) -> KnownProviders | None:
    if args.providers and args.conn_extra:
        raise WrongArgumentsError("Use either --providers or --conn-extra, but not both.")
    if args.providers:
        return of_file(args.providers)
    if args.conn_extra == "-":
        return of_extra(text_of("-", kind="value of --conn-extra"))
    return of_extra(args.conn_extra) if args.conn_extra else None


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
    # Without a file, such as for --conn-extra, its name is that of what was read: a code scanner refuses the whole log
    # if one result has no place.
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
