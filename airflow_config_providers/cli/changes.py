"""The commands that change dynamic configuration, take changes back and list them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from airflow_config_providers.cli import arguments
from airflow_config_providers.cli.failing import Notes, reporting_errors
from airflow_config_providers.cli.output import is_for_people, show, show_columns
from airflow_config_providers.cli.target import check, configurations
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.deployment.rows import Row


def _resource(args: Any) -> ConfigResource:
    resource: ConfigResource
    resource, _ = arguments.together(partial(arguments.resource, args), partial(check, args))
    return resource


@reporting_errors
def alter(args: Any) -> None:
    """Change a resource, and show what applies now."""
    resource, changes, _ = arguments.together(
        partial(arguments.resource, args), partial(arguments.operations, args), partial(check, args)
    )
    notes = Notes()
    arguments.note_changes(args, notes)
    done = configurations(args, notes).alter(
        resource, changes, validate_only=args.validate_only, if_version=args.if_version
    )
    show_columns(done, args.output, nothing="Nothing changes.")


@reporting_errors
def rollback(args: Any) -> None:
    """Restore an earlier version, and show what applies now."""
    resource, notes = _resource(args), Notes()
    found = configurations(args, notes)
    if args.to_version is None:
        _note_second_rollback(found.history(resource), notes)
    done = found.rollback(
        resource,
        to_version=args.to_version,
        validate_only=args.validate_only,
        leave_out=arguments.separated(args.leave_out),
    )
    show_columns(done, args.output, nothing="Nothing changes.")


def _note_second_rollback(past: Sequence[Row], notes: Notes) -> None:
    """Note that the last of the changes in ``past`` was a rollback, so that another one brings back what it undid."""
    if past and past[-1].get("event") == "rollback":
        notes(
            f"This takes back the rollback in version {past[-1]['version']}. To go further back, use --to-version N; "
            f"0 is before the first change."
        )


@reporting_errors
def refresh(args: Any) -> None:
    """Have the values of references read again, and show the resources that this concerns."""
    resource = _resource(args)
    show(configurations(args, Notes()).refresh(resource), args.output)


@reporting_errors
def history(args: Any) -> None:
    """List the changes of a resource."""
    resource = _resource(args)
    rows = configurations(args, Notes()).history(resource)
    shown = list(map(_with_event, rows)) if is_for_people(args.output) else rows
    show(shown, args.output, nothing=f"No changes of {resource} are recorded.")


def _with_event(row: Row) -> Row:
    """Return a row of a history whose event says what a rollback restored; a server of an older version does not."""
    event, restored = row.get("event", ""), row.get("restored")
    shown = {name: value for name, value in row.items() if name != "restored"}
    return {**shown, "event": event if restored is None else f"{event} to {restored}"}
