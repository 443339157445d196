"""The command that lists which tasks use a reference."""

from __future__ import annotations

from typing import Any

from airflow_config_providers.cli.failing import reporting_errors
from airflow_config_providers.cli.output import show
from airflow_config_providers.cli.target import require_here
from airflow_config_providers.core.text import printable
from airflow_config_providers.deployment.usages import usages


@reporting_errors
def references(args: Any) -> None:
    """List the tasks that use references, and say which of them had an older value."""
    require_here("references")
    show(
        usages(args.pattern),
        args.output,
        nothing=f"No task has a record with a reference like {printable(args.pattern)}.",
    )
