"""The command that lists the changes of dynamic configuration."""

from __future__ import annotations

from functools import partial
from typing import Any

from airflow_config_providers.cli import arguments
from airflow_config_providers.cli.failing import Notes, reporting_errors
from airflow_config_providers.cli.output import is_for_people, show
from airflow_config_providers.cli.target import check, configurations
from airflow_config_providers.deployment.rows import Row


@reporting_errors
def history(args: Any) -> None:
    """List the changes of a resource."""
    resource, _ = arguments.together(partial(arguments.resource, args), partial(check, args))
    rows = configurations(args, Notes()).history(resource)
    shown = list(map(_with_event, rows)) if is_for_people(args.output) else rows
    show(shown, args.output, nothing=f"No changes of {resource} are recorded.")


def _with_event(row: Row) -> Row:
    """Return a row of a history whose event says what a rollback restored; a server of an older version does not."""
    event, restored = row.get("event", ""), row.get("restored")
    shown = {name: value for name, value in row.items() if name != "restored"}
    return {**shown, "event": event if restored is None else f"{event} to {restored}"}
