"""The command that asks policies about past runs."""

from __future__ import annotations

import sys
from typing import Any

from airflow_config_providers import settings
from airflow_config_providers.cli.audit_leaks import FOUND, INCOMPLETE
from airflow_config_providers.cli.audited import audited, known, show_found
from airflow_config_providers.cli.failing import Finished, Notes, reporting_errors
from airflow_config_providers.cli.target import require_here
from airflow_config_providers.core.text import printable
from airflow_config_providers.deployment.database_records import owners
from airflow_config_providers.job.past_policies import PastPolicies
from airflow_config_providers.spark.audit.policy_audit import stopped_runs


@reporting_errors
def policies(args: Any) -> None:
    """Show which past runs policies would have stopped; exit with 0 if none, 1 if some, 2 if not all could be read."""
    require_here("audit policies")
    notes = Notes()
    asked = PastPolicies.read(args.file, settings.allowed_policy_classes())
    of_dag = dict(known(args, notes, "The owners of DAGs are", owners))
    with audited(args, notes) as found:
        stopped = stopped_runs(found.session, found.records.frame, asked.verdicts)
        runs = found.records.frame.select("dag", "task", "run").distinct().count()
    for file, problem in stopped.unjudged.items():
        notes(f"{printable(file)} was not judged: {problem}")
    rows = [
        {"policy": row["policy"], "dag": row["dag"], "owner": of_dag.get(row["dag"], ""), **row} for row in stopped.rows
    ]
    show_found(rows, args.output, nothing="No run would have been stopped.")
    sys.stderr.write(f"{stopped.runs} of {runs} runs would have been stopped.\n")
    if stopped.unjudged or found.records.unread_count:
        raise Finished(INCOMPLETE)
    if stopped.runs:
        raise Finished(FOUND)
