"""The command that lists who uses a reference."""

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
        nothing=f"No task has a record with a reference like {printable(args.pattern)}.{_pattern_hint(args.pattern)}",
    )


def _pattern_hint(pattern: str) -> str:
    if pattern.startswith(("${", "*")):
        return ""
    return " A pattern is a whole reference, such as '${vault:apps/db:*}', in which * is any text."
