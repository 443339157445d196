"""The command that shows who used which reference in all runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from airflow_config_providers.cli.audited import audited, known, show_found
from airflow_config_providers.cli.failing import Notes, reporting_errors
from airflow_config_providers.cli.target import require_here
from airflow_config_providers.core.variable import is_like
from airflow_config_providers.deployment.database_records import owners
from airflow_config_providers.deployment.known_secrets import references_in_file
from airflow_config_providers.deployment.rows import Row
from airflow_config_providers.spark.audit.reference_audit import reference_uses


@reporting_errors
def references(args: Any) -> None:
    """Show each reference of the records: who used it, how many values it had, and who still has an older one."""
    require_here("audit references")
    notes = Notes()
    wanted = [str(one) for one in references_in_file(args.known, "--known")] if args.known else []
    of_dags = known(args, notes, "The owners of DAGs are", owners)
    with audited(args, notes) as found:
        uses = reference_uses(found.session, found.records.frame, of_dags)
    rows = [_row(use) for use in [*uses, *_unread(wanted, uses)]]
    if any(row["runs"] and not row["generations"] for row in rows):
        notes(
            "Some references have no hash of a value, so their generations are not known. Set [config_providers] "
            "password_encoder_secret where tasks run."
        )
    shown = [row for row in rows if is_like(row["reference"], args.pattern)]
    show_found(shown, args.output, nothing="No record has such a reference.")


def _unread(wanted: Sequence[str], uses: Sequence[Row]) -> Iterator[Row]:
    """Yield the references that no record has."""
    read = {use["reference"] for use in uses}
    yield from ({"reference": one, "tasks": 0, "runs": 0} for one in wanted if one not in read)


def _row(use: Row) -> Row:
    return {
        "reference": use["reference"],
        "finding": list(_findings(use)),
        "generations": use.get("generations"),
        "tasks": use["tasks"],
        "runs": use["runs"],
        "dags": use.get("dags", []),
        "owners": use.get("owners", []),
        "older": use.get("older") or [],
        "first": use.get("first"),
        "last": use.get("last"),
    }


def _findings(use: Row) -> Iterator[str]:
    if not use["runs"]:
        yield "unread"
    if len(use.get("dags", [])) > 1:
        yield "shared"
    if use.get("older"):
        yield "older values"
