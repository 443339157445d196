"""The command that asks policies about past runs."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

from airflow_config_providers import settings
from airflow_config_providers.cli.audit_leaks import FOUND, INCOMPLETE
from airflow_config_providers.cli.audited import audited, known, show_found, write_found
from airflow_config_providers.cli.failing import Finished, Notes, reporting_errors
from airflow_config_providers.cli.target import require_here
from airflow_config_providers.core.text import printable
from airflow_config_providers.deployment.database_records import owners
from airflow_config_providers.job.past_policies import PastPolicies
from airflow_config_providers.spark.audit.findings_file import POLICY
from airflow_config_providers.spark.audit.policy_audit import stopped_runs
from airflow_config_providers.spark.audit.policy_page import page, summary


@reporting_errors
def policies(args: Any) -> None:
    """Show which past runs policies would have stopped; exit with 0 if none, 1 if some, 2 if not all could be read."""
    require_here("audit policies")
    notes = Notes()
    asked = PastPolicies.read(args.file, settings.allowed_policy_classes())
    of_dag = dict(known(args, notes, "The owners of DAGs are", owners))
    with audited(args, notes) as found:
        stopped = stopped_runs(found.session, found.records.frame, asked.verdicts)
    for file, problem in stopped.unjudged.items():
        notes(f"{printable(file)} was not judged: {problem}")
    rows = stopped.rows_with(of_dag)
    show_found(rows, args.output, nothing="No run would have been stopped.")
    write_found(args, rows, POLICY, partial(page, stopped, of_dag))
    sys.stderr.write(f"{summary(stopped)}\n")
    if stopped.unjudged or found.records.unread_count:
        raise Finished(INCOMPLETE)
    if stopped.runs:
        raise Finished(FOUND)
