"""The arguments that choose what to describe: what settles now, what a try had, or two of these."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.cli.failing import Notes, WrongArgumentsError
from airflow_config_providers.cli.target import NOW, address_in, is_address
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.core.text import printable, whole_number
from airflow_config_providers.deployment.records import RunChoice
from airflow_config_providers.deployment.rows import Row
from airflow_config_providers.exceptions import ConfigProvidersError, refuse

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


def sides(args: Any) -> list[Side]:
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


def known_history(found: Configurations, notes: Notes, resource: ConfigResource) -> list[Row]:
    """Return the changes of ``resource``; with a note, none if they cannot be read."""
    try:
        return found.history(resource)
    except ConfigProvidersError as error:
        problem = " ".join(error.problems)
    notes(f"Who changed {resource} is not shown. {problem}")
    return []
