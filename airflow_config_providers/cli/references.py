"""The command that lists which tasks use a reference."""

from __future__ import annotations

from typing import Any

from airflow_config_providers.cli.failing import Notes, reporting_errors
from airflow_config_providers.cli.output import show
from airflow_config_providers.cli.target import check, configurations
from airflow_config_providers.core.text import printable


@reporting_errors
def references(args: Any) -> None:
    """List the tasks that use references, and say which of them had an older value."""
    check(args)
    show(
        configurations(args, Notes()).references(args.pattern),
        args.output,
        nothing=f"No task has a record with a reference like {printable(args.pattern)}.",
    )
