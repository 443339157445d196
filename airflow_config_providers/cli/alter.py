"""The command that changes dynamic configuration."""

from __future__ import annotations

from functools import partial
from typing import Any

from airflow_config_providers.cli import arguments, shell
from airflow_config_providers.cli.columns import show_columns
from airflow_config_providers.cli.failing import Notes, reporting_errors
from airflow_config_providers.cli.target import check, configurations


@reporting_errors
def alter(args: Any) -> None:
    """Change a resource, and show what applies now."""
    resource, changes, _ = arguments.together(
        partial(arguments.resource, args), partial(arguments.operations, args), partial(check, args)
    )
    notes = Notes()
    shell.note_changes(args, notes)
    done = configurations(args, notes).alter(
        resource, changes, validate_only=args.validate_only, if_version=args.if_version
    )
    show_columns(done, args.output, nothing="Nothing changes.")
