"""The commands that describe and alter dynamic configuration."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from airflow_config_providers.cli import arguments
from airflow_config_providers.cli.failing import Notes, reporting_errors
from airflow_config_providers.cli.output import is_for_people, show
from airflow_config_providers.cli.target import check, configurations
from airflow_config_providers.core.text import printable
from airflow_config_providers.deployment.rows import DETAILS, Row, Selection, is_secret


@reporting_errors
def describe(args: Any) -> None:
    """Show what a resource is configured with."""
    resource, _ = arguments.together(partial(arguments.resource, args), partial(check, args))
    rows = configurations(args, Notes()).describe(resource, Selection(tuple(args.key or ()), args.all))
    shown = _columns(rows, synonyms=args.synonyms) if is_for_people(args.output) else rows
    show(shown, args.output, nothing=f"Nothing is configured for {resource}.")


@reporting_errors
def alter(args: Any) -> None:
    """Change a resource, and show what applies now."""
    resource, changes, _ = arguments.together(
        partial(arguments.resource, args), partial(arguments.operations, args), partial(check, args)
    )
    notes = Notes()
    for operation in arguments.visible(args):
        if is_secret(operation.name, operation.value or ""):
            notes(
                f"{printable(operation.name)} is a secret, and other users of this machine can read the command line: "
                f"use --add-config-file, or write a reference."
            )
    done = configurations(args, notes).alter(
        resource, changes, validate_only=args.validate_only, if_version=args.if_version
    )
    show(done, args.output, nothing="Nothing changes.")


@reporting_errors
def history(args: Any) -> None:
    """List the changes of a resource."""
    resource, _ = arguments.together(partial(arguments.resource, args), partial(check, args))
    rows = configurations(args, Notes()).history(resource)
    show(rows, args.output, nothing=f"No changes of {resource} are recorded.")


@reporting_errors
def rollback(args: Any) -> None:
    """Restore an earlier version, and show what applies now."""
    resource, _ = arguments.together(partial(arguments.resource, args), partial(check, args))
    done = configurations(args, Notes()).rollback(
        resource, to_version=args.to_version, validate_only=args.validate_only
    )
    show(done, args.output, nothing="Nothing changes.")


def _columns(rows: Sequence[Row], *, synonyms: bool) -> list[Row]:
    """Return rows for people: the columns that fit on a screen, or one row for each synonym."""
    if synonyms:
        return [synonym for row in rows for synonym in row["synonyms"]]
    return [{name: value for name, value in row.items() if name not in DETAILS} for row in rows]
