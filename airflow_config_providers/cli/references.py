"""The command that lists which tasks use a reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from airflow_config_providers.cli.failing import Notes, reporting_errors
from airflow_config_providers.cli.output import show
from airflow_config_providers.cli.target import require_here
from airflow_config_providers.core.text import printable
from airflow_config_providers.deployment.rows import Row
from airflow_config_providers.deployment.usages import usages

_NO_HASHES: Final = (
    "{} of {} jobs left no hash of the value, so is_newest is empty there. Set [config_providers] "
    "password_encoder_secret where tasks run: their next jobs leave hashes, unless the driver resolves the references."
)


@reporting_errors
def references(args: Any) -> None:
    """List the tasks that use references, and say which of them had an older value."""
    require_here("references")
    found = usages(args.pattern)
    _explain(found, Notes())
    show(
        found,
        args.output,
        nothing=f"No task has a record with a reference like {printable(args.pattern)}.",
    )


def _explain(found: Sequence[Row], notes: Notes) -> None:
    without = sum(not row["hash"] for row in found)
    if without:
        notes(_NO_HASHES.format(without, len(found)))
