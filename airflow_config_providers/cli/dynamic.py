"""The commands that describe and alter dynamic configuration, and list who uses a reference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow_config_providers.cli import arguments, runs, shell
from airflow_config_providers.cli.failing import Notes, reporting_errors
from airflow_config_providers.cli.output import is_for_people, show
from airflow_config_providers.cli.runs import known_history
from airflow_config_providers.cli.target import address_in, check, configurations, configurations_at
from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.core.text import printable
from airflow_config_providers.deployment.differences import differences, with_authors
from airflow_config_providers.deployment.rows import DETAILS, KEY_COLUMNS, KeySelection, Row

if TYPE_CHECKING:
    from airflow_config_providers.cli.target import Configurations


def about_key(row: Row) -> str:
    """Return what Spark says of the key of a description; a server of an older version says less."""
    sentences = " ".join(_sentences(row))
    return f"{printable(row['key'])}: {sentences or 'Spark does not document this key.'}"


def _sentences(row: Row) -> Iterator[str]:
    if text := row.get("documentation"):
        yield text if text.endswith(".") else f"{text}."
    if row.get("type"):
        yield f"Type {row['type']}."
    if unit := row.get("unit"):
        yield f"A number without a unit is in {unit}."
    if allowed := row.get("allowed_values"):
        yield f"Allowed values: {', '.join(allowed)}."
    if (default := row.get("default")) is not None:
        yield f"Default: {printable(default)}." if default else "Default: empty."
    if since := row.get("since"):
        yield f"Since Spark {since}."
    yield from _successor(row)


def _successor(row: Row) -> Iterator[str]:
    removed, deprecated, successor = (row.get(name) for name in ("removed", "deprecated", "successor"))
    if removed:
        yield f"Removed in Spark {removed}."
    elif deprecated:
        yield f"Deprecated since Spark {deprecated}."
    if successor:
        yield f"Use {printable(successor)}."


@reporting_errors
def describe(args: Any) -> None:
    """Show what a resource is configured with."""
    resource, _, sides = arguments.together(
        partial(arguments.resource, args), partial(check, args), partial(runs.sides, args)
    )
    notes = Notes()
    found, selection = configurations(args, notes), KeySelection(tuple(args.key or ()), args.all, notes=True)
    if args.why_not is not None:
        shell.note_setting(args.why_not, notes)
        _show_columns(found.why_not(resource, args.why_not, sides[0].choice), args.output)
        return
    at = [configurations_at(side.address, args, notes) if side.address else found for side in sides]
    rows, *other = (_described(one, resource, side, selection) for one, side in zip(at, sides, strict=True))
    if other:
        # Of two deployments, neither changed into the other.
        history = (lambda _: ()) if address_in(args) else partial(known_history, found, notes)
        first, second = (_unread(one, resource, side) for one, side in zip(at, sides, strict=True))
        differing = with_authors(differences(rows, other[0], unread=(first, second)), resource, history)
        show(differing, args.output, nothing="There are no differences.")
        return
    if args.key and is_for_people(args.output):
        for row in rows:
            notes(about_key(row))
    nothing = "This try has no configuration." if args.run else _unconfigured(resource)
    _show_columns(rows, args.output, synonyms=args.synonyms, nothing=nothing)


def _unconfigured(resource: ConfigResource) -> str:
    tasks = " Its tasks can have keys of their own: name one with --task."
    is_dag = bool(resource.dag_id) and not resource.task_id
    return f"Nothing is configured for {resource}.{tasks if is_dag else ''}"


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
    _show_columns(done, args.output, nothing="Nothing changes.")


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


@reporting_errors
def rollback(args: Any) -> None:
    """Restore an earlier version, and show what applies now."""
    resource, _ = arguments.together(partial(arguments.resource, args), partial(check, args))
    notes = Notes()
    found = configurations(args, notes)
    if args.to_version is None:
        _note_second_rollback(found.history(resource), notes)
    done = found.rollback(resource, to_version=args.to_version, validate_only=args.validate_only)
    _show_columns(done, args.output, nothing="Nothing changes.")


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
    resource, _ = arguments.together(partial(arguments.resource, args), partial(check, args))
    show(configurations(args, Notes()).refresh(resource), args.output)


def _unread(found: Configurations, resource: ConfigResource, side: runs.Side) -> str:
    """Return why a side of a comparison lacks layer files; empty if it has all."""
    return "" if side.choice or not resource.task_id else found.unread_files(resource)


def _described(found: Configurations, resource: ConfigResource, side: runs.Side, selection: KeySelection) -> list[Row]:
    if side.choice:
        return found.describe_run(resource, side.choice, selection)
    return found.describe(resource, selection)


def _show_columns(rows: Sequence[Row], output: str, *, synonyms: bool = False, nothing: str = "") -> None:
    """Print all of ``rows`` for programs, and for people the columns that fit on a screen."""
    show(_columns(rows, synonyms=synonyms) if is_for_people(output) else rows, output, nothing=nothing)


def _columns(rows: Sequence[Row], *, synonyms: bool) -> list[Row]:
    """Return rows for people: the columns that fit on a screen, or one row for each synonym."""
    if synonyms:
        return [synonym for row in rows for synonym in row["synonyms"]]
    marked = map(_with_chosen_files, rows)
    shown = [{name: value for name, value in row.items() if name not in (*DETAILS, *KEY_COLUMNS)} for row in marked]
    return [_with_applied(row) if "applied" in row else row for row in shown]


def _with_chosen_files(row: Row) -> Row:
    """Return a row whose value names the files that only a run chooses and that can override it."""
    files = row.get("or_from")  # which neither a record has, nor a server of an older version
    return {**row, "value": f"{row['value']} (or from {', '.join(files)})"} if files else row


def _with_applied(row: Row) -> Row:
    """Return a row whose column ``applied`` says whether the key waits for the next submit."""
    had = "not set" if row["applied"] is None else row["applied"]
    others = {name: value for name, value in row.items() if name != "pending"}
    return {**others, "applied": f"pending, is {had}"} if row["pending"] else others


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
