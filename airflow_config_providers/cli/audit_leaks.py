"""The command that searches files for known values, on Spark."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from functools import partial
from typing import Any

from airflow_config_providers import settings
from airflow_config_providers.cli.audit_common import octets_progress, show_found, spark_configs, writing_found
from airflow_config_providers.cli.failing import (
    FOUND,
    INCOMPLETE,
    Finished,
    Notes,
    WrongArgumentsError,
    reporting_errors,
    say,
)
from airflow_config_providers.cli.output import is_for_people
from airflow_config_providers.cli.providers import definitions_at
from airflow_config_providers.cli.target import require_here
from airflow_config_providers.core.text import printable
from airflow_config_providers.deployment.audits import scope_of_leaks
from airflow_config_providers.deployment.database_tables import airflow_database
from airflow_config_providers.deployment.known_secrets import (
    KnownSecrets,
    references_in_file,
    references_of_records,
    resolved_secrets,
    search_for,
    without_excepted,
)
from airflow_config_providers.deployment.rows import Row
from airflow_config_providers.spark.audit.leaks.leak_audit import LeakRequest
from airflow_config_providers.spark.audit.leaks.leak_report import LeakReport, nothing_found, page, summary
from airflow_config_providers.spark.audit.report_file import LEAK, require_places


@reporting_errors
def leaks(args: Any) -> None:
    """Report which files contain known values; exit with 0 if none does, 1 if some do, 2 if not all could be read."""
    require_here("audit leaks")
    _require_any(args)
    require_places(args.report, args.output_parquet)
    notes = Notes()
    known = _known(args)
    with octets_progress() as tick, redirect_stdout(sys.stderr):  # Airflow's hooks log to standard output
        request = _request(args)
        report = search_for(known, request, notes, tick=tick)
    scope = scope_of_leaks(request, known, _references_in(args), notes=notes.printed)
    rows = [leak.row() for leak in report.leaks]
    with writing_found(args, rows, LEAK, partial(page, report, scope)):
        show_found(_shown(rows, args.output), args.output, nothing=nothing_found(report))
        _note_problems(report, notes)
    if code := _code(report):
        raise Finished(code)


def _shown(rows: Sequence[Row], output: str) -> Sequence[Row]:
    """
    Return what is printed.

    For people, it has no fingerprints, because they would need half of the width, and columns only if there are some.
    """
    if not is_for_people(output):
        return rows
    left_out = {"fingerprint", *(() if any(row["column"] for row in rows) else ("column",))}
    return [{name: cell for name, cell in row.items() if name not in left_out} for row in rows]


def _require_any(args: Any) -> None:
    if not args.paths and not args.database:
        raise WrongArgumentsError("There is nothing to search. Name files or folders, or add --database.")
    if not args.paths and args.reversed_copy:
        raise WrongArgumentsError("--reversed-copy copies files. Name files or folders to copy.")


def _references_in(args: Any) -> list[str]:
    records = [] if args.no_records or args.no_values else ["all records"]
    return [*(args.references or ()), *records]


def _request(args: Any) -> LeakRequest:
    return LeakRequest(
        args.paths,
        args.baseline,
        state=args.state,
        reversed_copy=args.reversed_copy,
        master=args.master,
        configs=spark_configs(args),
        database=airflow_database() if args.database else None,
        fingerprints=args.fingerprints or (),
        write_fingerprints=args.write_fingerprints,
        tokens=args.tokens,
        excepted=args.excepted or (),
    )


def _known(args: Any) -> KnownSecrets:
    if args.no_values:
        return _no_values(args)
    references = [one for path in args.references or () for one in references_in_file(path)]
    if not args.no_records:
        references += references_of_records()
    excepted = args.excepted or ()
    if references and not without_excepted(references, excepted):
        raise WrongArgumentsError("--except leaves no reference to search for. Name fewer references there.")
    if not references and (args.tokens or args.fingerprints):
        return KnownSecrets(())
    if not references:
        found = "--no-records leaves no reference" if args.no_records else "No record has a reference"
        raise WrongArgumentsError(f"{found} to search for. Name a file with references: --references FILE.")
    return resolved_secrets(references, definitions_at(args.conn_id or settings.config_conn_id()), excepted=excepted)


def _no_values(args: Any) -> KnownSecrets:
    if args.references or args.write_fingerprints:
        raise WrongArgumentsError(
            "--references and --write-fingerprints need values, and --no-values asks for none. Leave out one of them."
        )
    if not (args.fingerprints or args.tokens or args.state):
        raise WrongArgumentsError(
            "--no-values leaves nothing to search for. Add --fingerprints FILE, --tokens, or both."
        )
    return KnownSecrets(())


def _note_problems(report: LeakReport, notes: Notes) -> None:
    if not (report.files or report.rows or report.skipped or report.unread):
        notes("Nothing was searched: there are no files below the paths, and no rows.")
    for path, reason in sorted(report.skipped.items()):
        notes(f"{printable(path)} was skipped: it is {reason}.")
    for path, reason in sorted(report.unread.items()):
        notes(f"{printable(path)} was not searched, or not all of it: {reason}")
    for path, reason in sorted(report.uncopied.items()):
        notes(f"{printable(path)} has no copy: {reason}")
    say(f"{summary(report)}\n")


def _code(report: LeakReport) -> int:
    if not report.is_complete:
        return INCOMPLETE
    return FOUND if report.leaks else 0
