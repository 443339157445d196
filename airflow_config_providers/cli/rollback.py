"""The command that restores an earlier version of dynamic configuration."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from airflow_config_providers.cli import arguments
from airflow_config_providers.cli.columns import show_columns
from airflow_config_providers.cli.failing import Notes, reporting_errors
from airflow_config_providers.cli.target import check, configurations
from airflow_config_providers.deployment.rows import Row


@reporting_errors
def rollback(args: Any) -> None:
    """Restore an earlier version, and show what applies now."""
    resource, _ = arguments.together(partial(arguments.resource, args), partial(check, args))
    notes = Notes()
    found = configurations(args, notes)
    if args.to_version is None:
        _note_second_rollback(found.history(resource), notes)
    done = found.rollback(resource, to_version=args.to_version, validate_only=args.validate_only)
    show_columns(done, args.output, nothing="Nothing changes.")


def _note_second_rollback(past: Sequence[Row], notes: Notes) -> None:
    """Note that the last of the changes in ``past`` was a rollback, so that another one brings back what it undid."""
    if past and past[-1].get("event") == "rollback":
        notes(
            f"This takes back the rollback in version {past[-1]['version']}. To go further back, use --to-version N; "
            f"0 is before the first change."
        )
