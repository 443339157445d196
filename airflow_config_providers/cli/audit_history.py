"""The command that shows the history of the configuration of a whole deployment."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from airflow_config_providers.cli.audited import Audited, audited, known, show_found, write_found
from airflow_config_providers.cli.failing import Notes, reporting_errors
from airflow_config_providers.cli.runs import known_history
from airflow_config_providers.cli.target import require_here
from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.core.text import printable
from airflow_config_providers.deployment.configurations import DeployedConfigurations
from airflow_config_providers.deployment.database_records import dynamic_keys, outcomes
from airflow_config_providers.deployment.differences import with_authors
from airflow_config_providers.deployment.rows import Row
from airflow_config_providers.spark.audit.drift import Drift, drift_of
from airflow_config_providers.spark.audit.findings import BEFORE_FAILURE
from airflow_config_providers.spark.audit.findings_file import HISTORY
from airflow_config_providers.spark.audit.history_audit import KINDS, KnownElsewhere, history_of
from airflow_config_providers.spark.audit.history_page import page


@reporting_errors
def history(args: Any) -> None:
    """Show what differs between runs, DAGs and environments, what has no effect, and what failures have in common."""
    require_here("audit history")
    notes = Notes()
    with audited(args, notes) as found:
        there = found.read(args.against).frame if args.against else None
        with history_of(found.session, found.records.frame, _known(args, found, notes), there) as past:
            rows = past.findings(args.kind or KINDS)
            drift = drift_of(past.runs, past.changes) if args.report else Drift()
    if args.no_database:
        notes(
            "Airflow's database was not read: runs that failed after they were submitted, who changed what, and "
            "unused keys are unknown."
        )
    shown = [_shown(row) for row in _with_authors(args, rows, notes)]
    show_found(shown, args.output, nothing="Nothing found.")
    write_found(args, shown, HISTORY, partial(page, shown, drift))


def _known(args: Any, found: Audited, notes: Notes) -> KnownElsewhere:
    dags = [row.dag for row in found.records.frame.select("dag").distinct().collect()]
    ended = known(args, notes, "Which runs failed after they were submitted is", partial(outcomes, dags))
    keys = known(args, notes, "What dynamic configuration sets now is", dynamic_keys)
    chosen = [one for one in keys if not args.dag or one[1] in {"", args.dag}]
    return KnownElsewhere(ended, chosen)


def _with_authors(args: Any, rows: Sequence[Row], notes: Notes) -> list[Row]:
    """Return ``rows`` with who changed what before a failure, if a change of dynamic configuration was the cause."""
    if args.no_database:
        return list(rows)
    history = partial(known_history, DeployedConfigurations(notes), notes)
    return [_with_author(row, history) if row["kind"] == BEFORE_FAILURE and row["key"] else row for row in rows]


def _with_author(row: Row, history: Any) -> Row:
    (found,) = with_authors([row], ConfigResource.of_task(row["dag"], row["task"]), history)
    if not found["changed_by"]:
        return row
    return {**row, "detail": f"{row['detail']}; changed by {printable(found['changed_by'])} at {found['changed_at']}"}


def _shown(row: Row) -> Row:
    return {name: row[name] for name in HISTORY}
