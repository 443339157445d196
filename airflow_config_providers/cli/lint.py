"""The command that finds mistakes before anything runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from airflow_config_providers.cli.arguments import seconds, separated, text_of
from airflow_config_providers.cli.failing import FOUND, INCOMPLETE, Finished, WrongArgumentsError, reporting_errors, say
from airflow_config_providers.cli.output import progress
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.wording import first_of, how_many
from airflow_config_providers.exceptions import ConfigProvidersError, refuse
from airflow_config_providers.lint.finding import UNREAD, Finding, FindingLevel, RuleSelection
from airflow_config_providers.lint.known_providers import KnownProviders, of_extra, of_file
from airflow_config_providers.lint.linter import lint_files
from airflow_config_providers.lint.paths import LintedPaths
from airflow_config_providers.lint.reports import REPORTS


@reporting_errors
def lint(args: Any) -> None:
    """Report the mistakes in files, and exit with 0 if there are none, 1 if there are, and 2 if a file was unread."""
    problems: Sequence[str] = ()
    try:
        selection, paths = _selection(args), _paths(args)
        with progress(len(paths.dags)) as tick:
            outcome = lint_files(paths, selection, _providers(args), seconds=seconds(args), tick=tick)
    except ConfigProvidersError as error:
        problems = error.problems
    refuse(WrongArgumentsError, problems)
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
