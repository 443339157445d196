"""The command that shows who used which reference in all runs."""

from __future__ import annotations

from functools import partial
from typing import Any

from airflow_config_providers.cli.audited import audited, known, show_found, write_found
from airflow_config_providers.cli.failing import Notes, reporting_errors
from airflow_config_providers.cli.target import require_here
from airflow_config_providers.core.variable import is_like
from airflow_config_providers.deployment.database_records import owners
from airflow_config_providers.deployment.known_secrets import references_in_file
from airflow_config_providers.spark.audit.findings_file import REFERENCE
from airflow_config_providers.spark.audit.reference_audit import reference_rows, reference_uses
from airflow_config_providers.spark.audit.reference_page import page


@reporting_errors
def references(args: Any) -> None:
    """Show each reference of the records: who used it, how many values it had, and who still has an older one."""
    require_here("audit references")
    notes = Notes()
    wanted = [str(one) for one in references_in_file(args.known, "--known")] if args.known else []
    of_dags = known(args, notes, "The owners of DAGs are", owners)
    with audited(args, notes) as found:
        uses = reference_uses(found.session, found.records.frame, of_dags)
    rows = reference_rows(uses, wanted)
    if any(row["runs"] and not row["generations"] for row in rows):
        notes(
            "Some references have no hash of a value, so their generations are not known. Set [config_providers] "
            "password_encoder_secret where tasks run."
        )
    shown = [row for row in rows if is_like(row["reference"], args.pattern)]
    show_found(shown, args.output, nothing="No record has such a reference.")
    write_found(args, shown, REFERENCE, partial(page, shown))
