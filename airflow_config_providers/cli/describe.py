"""The commands that show what a task, a DAG or the deployment is configured with, and who uses a reference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.cli import arguments
from airflow_config_providers.cli.failing import Notes, WrongArgumentsError, reporting_errors
from airflow_config_providers.cli.output import is_for_people, show, show_columns
from airflow_config_providers.cli.target import (
    NOW,
    address_in,
    check,
    configurations,
    configurations_at,
    is_address,
    known_history,
)
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.core.text import printable, whole_number
from airflow_config_providers.deployment.differences import differences, with_authors
from airflow_config_providers.deployment.records import RunChoice
from airflow_config_providers.deployment.rows import KeySelection, Row
from airflow_config_providers.exceptions import refuse

if TYPE_CHECKING:
    from airflow_config_providers.cli.target import Configurations

_LAST_TRY: Final = 999_999_999
"""The largest number of a try that is read; Airflow's database keeps it in 32 bits."""


@dataclass(frozen=True, slots=True)
class Side:
    """
    What to describe.

    :param choice: the try; None for what settles now
    :param address: the server of another deployment; empty for the one that all commands use
    """

    choice: RunChoice | None = None
    address: str = ""


def _sides(args: Any) -> list[Side]:
    """
    Return what to describe: one side, or two to compare.

    :raises WrongArgumentsError: options conflict; lists all problems
    """
    refuse(WrongArgumentsError, _conflicts(args))
    if args.diff:
        return [Side(address=text) if is_address(text) else Side(_choice(text, args)) for text in args.diff]
    return [Side(RunChoice(args.run, args.try_number, args.map_index) if args.run else None)]


def _choice(text: str, args: Any) -> RunChoice | None:
    if text == NOW:
        return None
    run, sign, number = text.rpartition("#")
    tried = whole_number(number, least=1, most=_LAST_TRY)
    if not sign and args.run and tried:
        return RunChoice(args.run, tried, args.map_index)
    if not sign:
        return RunChoice(text, None, args.map_index)
    if not run or not tried:
        raise WrongArgumentsError(f"--diff: '{printable(text)}' is not RUN_ID#TRY. Write the number of a try after #.")
    return RunChoice(run, tried, args.map_index)


def _conflicts(args: Any) -> Iterator[str]:
    if args.why_not is not None:
        yield from _conflicts_of_why_not(args)
    if not (args.run or args.diff):
        for option, value in (("--try", args.try_number), ("--map-index", args.map_index)):
            if value is not None:
                yield f"{option} requires a run. Add --run RUN_ID."
        return
    if not args.task and not _are_deployments(args):
        yield "--run and --diff require a task. Add --dag DAG_ID --task TASK_ID."
    if args.all:
        yield "--all shows Spark's defaults, which records do not have. Remove it."
    if args.diff and args.synonyms:
        yield "--diff and --synonyms exclude each other. Keep one of them."
    if args.diff and args.try_number is not None:
        yield "--diff and --try exclude each other. Write the try into --diff, as in RUN_ID#2."
    if args.try_number is not None and args.try_number < 1:
        yield "--try: tries are numbered from 1. Correct it."


def _are_deployments(args: Any) -> bool:
    """Return whether two deployments are compared as they are now, which every resource allows."""
    return bool(address_in(args)) and all(text == NOW or is_address(text) for text in args.diff) and not args.run


def _conflicts_of_why_not(args: Any) -> Iterator[str]:
    if not args.why_not.strip() or args.why_not.strip().startswith("="):
        yield "--why-not: there is no key and no layer. Write KEY=VALUE, a path of a file, or the name of a layer."
    for option in ("diff", "key", "synonyms", "all"):
        if getattr(args, option):
            yield f"--why-not and --{option} exclude each other. Keep one of them."


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
        partial(arguments.resource, args), partial(check, args), partial(_sides, args)
    )
    notes = Notes()
    found, selection = configurations(args, notes), KeySelection(tuple(args.key or ()), args.all, notes=True)
    if args.why_not is not None:
        arguments.note_setting(args.why_not, notes)
        show_columns(found.why_not(resource, args.why_not, sides[0].choice), args.output)
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
    show_columns(rows, args.output, synonyms=args.synonyms, nothing=nothing)


def _unconfigured(resource: ConfigResource) -> str:
    tasks = " Its tasks can have keys of their own: name one with --task."
    is_dag = bool(resource.dag_id) and not resource.task_id
    return f"Nothing is configured for {resource}.{tasks if is_dag else ''}"


def _unread(found: Configurations, resource: ConfigResource, side: Side) -> str:
    """Return why a side of a comparison lacks layer files; empty if it has all."""
    return "" if side.choice or not resource.task_id else found.unread_files(resource)


def _described(found: Configurations, resource: ConfigResource, side: Side, selection: KeySelection) -> list[Row]:
    if side.choice:
        return found.describe_run(resource, side.choice, selection)
    return found.describe(resource, selection)


@reporting_errors
def references(args: Any) -> None:
    """List the tasks that use references, and say which of them had an older value."""
    check(args)
    nothing = f"No task has a record with a reference like {printable(args.pattern)}.{_pattern_hint(args.pattern)}"
    show(configurations(args, Notes()).references(args.pattern), args.output, nothing=nothing)


def _pattern_hint(pattern: str) -> str:
    if pattern.startswith(("${", "*")):
        return ""
    return " A pattern is a whole reference, such as '${vault:apps/db:*}', in which * is any text."
