"""The commands that audit a deployment on Spark."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, Final

from airflow_config_providers import settings
from airflow_config_providers.cli.arguments import pairs
from airflow_config_providers.cli.failing import Finished, Notes, WrongArgumentsError, reporting_errors
from airflow_config_providers.cli.output import show
from airflow_config_providers.cli.providers import definitions_at
from airflow_config_providers.cli.target import require_here
from airflow_config_providers.core.text import printable
from airflow_config_providers.deployment.known_secrets import (
    KnownSecrets,
    references_in_file,
    references_of_records,
    resolved_secrets,
)
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.spark.audit.files import Listing
from airflow_config_providers.spark.audit.leak import Leak, read_baseline
from airflow_config_providers.spark.audit.leak_audit import LeakAudit, LeakReport
from airflow_config_providers.spark.audit.leak_finder import KnownSecret, searchable
from airflow_config_providers.spark.audit.reversed_copies import target_of
from airflow_config_providers.spark.audit.seen_files import SeenFiles
from airflow_config_providers.spark.audit.session import audit_session

FOUND: Final = 1
INCOMPLETE: Final = 2


@reporting_errors
def leaks(args: Any) -> None:
    """Report where known values stand in files; exit with 0 if nowhere, 1 if some do, 2 if not all could be read."""
    require_here("audit leaks")
    notes = Notes()
    accepted = read_baseline(args.baseline) if args.baseline else frozenset()
    known = _known(args, notes)
    secrets, short = searchable(known.secrets)
    for reference in short:
        notes(f"{printable(reference)}: its value is too short or too common to be searched for.")
    if not secrets:
        raise ConfigException("There is no value to search for.", *known.problems)
    report = _searched(args, secrets)
    fresh = [leak for leak in report.leaks if leak.id not in accepted]
    _show(fresh, args.output)
    _tell(report, fresh, notes)
    if code := _code(report, fresh, known):
        raise Finished(code)


def _known(args: Any, notes: Notes) -> KnownSecrets:
    """Return the values to search for, and tell which references have none."""
    references = [one for path in args.references or () for one in references_in_file(path)]
    if not args.no_records:
        references += references_of_records()
    if not references:
        raise WrongArgumentsError(
            "No reference is known: no record has one. Name a file with references: --references FILE."
        )
    found = resolved_secrets(references, definitions_at(args.conn_id or settings.config_conn_id()))
    for problem in found.problems:
        notes(problem)
    return found


def _searched(args: Any, secrets: Sequence[KnownSecret]) -> LeakReport:
    listing = Listing.of(args.paths)
    seen = SeenFiles.open(args.state, secrets) if args.state else None
    target = target_of(args.reversed_copy, args.paths) if args.reversed_copy else None
    with (
        _progress() as tick,
        audit_session(args.master, dict(pair for text in args.conf or () for pair in pairs(text))) as session,
        closing(LeakAudit(session, secrets, tick=tick)) as audit,
    ):
        report = audit.run(listing, seen)
        if target:
            report.unread.update(audit.copy(listing.files, target))
    return report


def _show(leaks: Sequence[Leak], output: str) -> None:
    """Print a leak a line for programs, and a table for people."""
    rows = [leak.row() for leak in leaks]
    if output == "json":
        sys.stdout.writelines(f"{json.dumps(row)}\n" for row in rows)
    else:
        show(rows, output, nothing="Nothing found.")


def _tell(report: LeakReport, fresh: Sequence[Leak], notes: Notes) -> None:
    for path, reason in sorted(report.skipped.items()):
        notes(f"{printable(path)} was skipped: it is {reason}.")
    for path, reason in sorted(report.unread.items()):
        notes(f"{printable(path)} was not searched, or not all of it: {reason}")
    accepted = len(report.leaks) - len(fresh)
    sys.stderr.write(
        f"{report.files} files with {report.octets} bytes searched ({report.read} of them read now), "
        f"{len(fresh)} leaks{f', and {accepted} that the baseline accepts' if accepted else ''}.\n"
    )


def _code(report: LeakReport, fresh: Sequence[Leak], known: KnownSecrets) -> int:
    if report.unread or known.problems:
        return INCOMPLETE
    return FOUND if fresh else 0


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """Yield a function that shows how far the search is, on a terminal: bytes, rate and the time that is left."""
    from rich.console import Console  # noqa: PLC0415 - only a command that runs needs these
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn  # noqa: PLC0415

    console = Console(stderr=True)
    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=None)
        yield lambda octets, total: bar.update(task, completed=octets, total=total)
