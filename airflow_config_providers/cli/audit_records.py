"""The commands that audit the records of a whole deployment: its history, its policies and its references."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

from airflow_config_providers import settings
from airflow_config_providers.cli.audit_common import Audited, audited, known, show_found, writing_found
from airflow_config_providers.cli.failing import (
    FOUND,
    INCOMPLETE,
    Finished,
    Notes,
    WrongArgumentsError,
    reporting_errors,
    say,
)
from airflow_config_providers.cli.target import known_history, require_here
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import is_like
from airflow_config_providers.deployment.audits import dynamic_settings, scope_of_records
from airflow_config_providers.deployment.configurations import DeployedConfigurations
from airflow_config_providers.deployment.database_records import outcomes, owners
from airflow_config_providers.deployment.differences import History, with_authors
from airflow_config_providers.deployment.known_secrets import references_in_file
from airflow_config_providers.deployment.rows import Row
from airflow_config_providers.spark.audit.html_page import moment
from airflow_config_providers.spark.audit.records import history_audit, policy_audit, reference_audit
from airflow_config_providers.spark.audit.records.history_audit import (
    KINDS,
    UNKNOWN,
    WITHOUT_DATABASE,
    Drift,
    KnownElsewhere,
    drift_of,
    history_of,
)
from airflow_config_providers.spark.audit.records.history_findings import BEFORE_FAILURE
from airflow_config_providers.spark.audit.records.policy_audit import PastPolicies, stopped_runs
from airflow_config_providers.spark.audit.records.reference_audit import reference_rows, reference_uses
from airflow_config_providers.spark.audit.report_file import HISTORY, POLICY, REFERENCE, REFERENCE_RUN


@reporting_errors
def history(args: Any) -> None:
    """Show what differs between runs, DAGs and environments, what has no effect, and what failures have in common."""
    require_here("audit history")
    notes = Notes()
    with audited(args, notes) as found:
        there = found.read(args.against) if args.against else None
        elsewhere = _known(args, found, notes)
        others = there.frame if there else None
        with history_of(found.session, found.records.frame, elsewhere, others) as past:
            rows = past.findings(args.kind or KINDS)
            drift = drift_of(past.runs, past.changes) if args.report else Drift()
    if args.no_database:
        notes(WITHOUT_DATABASE)
    shown = [{name: row[name] for name in HISTORY} for row in _with_authors(args, rows, notes)]
    more = [("compared with", args.against), ("kinds of findings", args.kind)]
    scope = scope_of_records(found.choice, found.records, more, there=there, notes=_others(notes))
    if elsewhere.outcomes is None:
        scope = replace(scope, unknown=UNKNOWN)
    with writing_found(args, shown, HISTORY, partial(history_audit.page, shown, drift, scope)):
        show_found(shown, args.output, nothing="Nothing found.")


def _others(notes: Notes) -> list[str]:
    """Return the notes without the one that is at the top of the page."""
    return [note for note in notes.printed if note != WITHOUT_DATABASE]


def _known(args: Any, found: Audited, notes: Notes) -> KnownElsewhere:
    dags = [row.dag for row in found.records.frame.select("dag").distinct().collect()]
    ended = known(args, notes, "Which runs failed after they were submitted is", partial(outcomes, dags))
    dynamic = known(args, notes, "What dynamic configuration sets now is", dynamic_settings)
    chosen = [one for one in dynamic or () if not args.dag or one.dag in {"", args.dag}]
    return KnownElsewhere(ended, chosen)


def _with_authors(args: Any, rows: Sequence[Row], notes: Notes) -> list[Row]:
    if args.no_database:
        return list(rows)
    return changed_by(rows, partial(known_history, DeployedConfigurations(notes), notes))


def changed_by(rows: Sequence[Row], history: History) -> list[Row]:
    """
    Return ``rows`` with who changed what before a failure, if a change of dynamic configuration was the cause.

    :param history: called once for each resource
    """
    once = cache(history)
    return [_with_author(row, once) if row["kind"] == BEFORE_FAILURE and row["key"] else row for row in rows]


def _with_author(row: Row, history: History) -> Row:
    (found,) = with_authors([row], ConfigResource.of_task(row["dag"], row["task"]), history)
    if not found["changed_by"]:
        return row
    who, when = printable(found["changed_by"]), moment(found["changed_at"])
    return {**row, "detail": f"{row['detail']}; changed by {who} at {when} UTC"}


@reporting_errors
def policies(args: Any) -> None:
    """Show which past runs policies would have stopped; exit with 0 if none, 1 if some, 2 if not all could be read."""
    require_here("audit policies")
    notes = Notes()
    asked = PastPolicies.read(args.file, settings.allowed_policy_classes())
    of_dag = dict(known(args, notes, "The owners of DAGs are", owners) or ())
    with audited(args, notes) as found:
        stopped = stopped_runs(found.session, found.records.frame, asked.verdicts)
    for file, problem in stopped.unjudged.items():
        notes(f"{printable(file)} was not judged: {problem}")
    rows = stopped.rows_with(of_dag)
    scope = scope_of_records(found.choice, found.records, [("policies", args.file)], notes=notes.printed)
    with writing_found(args, rows, POLICY, partial(policy_audit.page, stopped, of_dag, scope)):
        show_found(rows, args.output, nothing="No run would have been stopped.")
    say(f"{policy_audit.summary(stopped)}\n")
    if stopped.unjudged or found.records.unread_count:
        raise Finished(INCOMPLETE)
    if stopped.runs:
        raise Finished(FOUND)


@reporting_errors
def references(args: Any) -> None:
    """Show each reference of the records: who used it, how many values it had, and who still has an older one."""
    require_here("audit references")
    if args.runs:
        _show_reference_runs(args)
        return
    notes = Notes()
    wanted = [str(one) for one in references_in_file(args.known, "--known")] if args.known else []
    of_dags = known(args, notes, "The owners of DAGs are", owners) or ()
    with audited(args, notes) as found:
        uses = reference_uses(found.session, found.records.frame, of_dags)
    rows = reference_rows(uses, wanted)
    shown = [row for row in rows if is_like(row["reference"], args.pattern)]
    keyless = {use["reference"] for use in uses if use["keyless"] and not use["generations"]}
    if any(row["reference"] in keyless for row in shown):
        notes(
            "Some references have no hash of a value, so their generations are not known. Set [config_providers] "
            "password_encoder_secret where tasks run."
        )
    more = [("references like", args.pattern), ("also those in", args.known)]
    scope = scope_of_records(found.choice, found.records, more, notes=notes.printed)
    with writing_found(args, shown, REFERENCE, partial(reference_audit.page, shown, scope)):
        show_found(shown, args.output, nothing="No record has such a reference.")


def _show_reference_runs(args: Any) -> None:
    if args.known:
        raise WrongArgumentsError("--runs lists tries, and --known lists references without one. Remove one of them.")
    notes = Notes()
    with audited(args, notes) as found:
        rows = reference_audit.reference_runs(found.records.frame, args.pattern)
    scope = scope_of_records(found.choice, found.records, [("references like", args.pattern)], notes=notes.printed)
    with writing_found(args, rows, REFERENCE_RUN, partial(reference_audit.runs_page, rows, scope)):
        show_found(rows, args.output, nothing="No record has such a reference.")
