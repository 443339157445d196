"""The command that shows what a change would change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, Final

from airflow_config_providers import settings
from airflow_config_providers.cli import arguments
from airflow_config_providers.cli.failing import UNDECIDED, Finished, Notes, WrongArgumentsError, reporting_errors
from airflow_config_providers.cli.output import is_for_people, progress, show, show_document
from airflow_config_providers.cli.target import require_here
from airflow_config_providers.core.text import printable, there_are
from airflow_config_providers.exceptions import PolicyViolation, refuse
from airflow_config_providers.job.policies import deployment_policies, open_policies
from airflow_config_providers.planning.plan import Plan, Policies, changed_keys, document, running_tries, verdicts
from airflow_config_providers.planning.planner import PlanMaker, PlanRequest
from airflow_config_providers.planning.state import read_environment

FAILED: Final = 1
"""The exit code of ``--detailed-exit-code`` if the plan cannot be made, or is denied."""

_MOST: Final = 20
"""The most notes, and the most denials, that are printed one by one."""

_ENVIRONMENT_DISABLED: Final = (
    "[config_providers] environment_enabled is False here. Tasks with this setting ignore environment variables."
)


def plan(args: Any) -> None:
    """Show what differs between two states, and exit as other commands do, or as ``--detailed-exit-code`` says."""
    try:
        _plan(args)
    except Finished:
        raise
    except SystemExit as end:
        code = FAILED if args.detailed_exit_code else end.code
    else:
        return
    raise SystemExit(code)


@reporting_errors
def _plan(args: Any) -> None:
    request, notes = _request(args), _FewNotes()
    arguments.note_changes(args, notes)
    if request.environ is not None and not settings.environment_enabled():
        notes(_ENVIRONMENT_DISABLED)
    with _policies(args.policies_file) as policies:
        found = PlanMaker(policies, notes, progress).plan(request)
    notes.end()
    _show(found, args.output)
    if denials := found.denials:
        more = [f"{there_are(len(denials) - _MOST, 'more denial')}."] if len(denials) > _MOST else []
        raise PolicyViolation(*denials[:_MOST], *more)
    if args.detailed_exit_code and found.may_differ:
        raise Finished(UNDECIDED)


@contextmanager
def _policies(path: str | None) -> Iterator[Policies]:
    """Yield the policies of the deployment, and those in the file at ``path`` in place of them afterwards."""
    with ExitStack() as stack:
        after = list(stack.enter_context(open_policies(path))) if path else None
        before = list(stack.enter_context(deployment_policies()))
        yield Policies(before if after is None else after, before)


def _request(args: Any) -> PlanRequest:
    require_here("plan")
    resource, operations, replaced, seconds, _ = arguments.together(
        partial(arguments.optional_resource, args, is_needed=arguments.has_operations(args)),
        lambda: arguments.operations(args) if arguments.has_operations(args) else [],
        partial(_replaced, args),
        partial(arguments.seconds, args),
        partial(_refuse_no_change, args),
    )
    environ = _environ(args.environment) if args.environment else None
    return PlanRequest(
        resource,
        operations,
        replaced=replaced,
        environ=environ,
        before=args.from_ or "",
        after=args.to or "",
        seconds=seconds,
    )


def _environ(path: str) -> Mapping[str, str]:
    return read_environment(arguments.text_of(path, kind="file of environment variables"), name=path)


def _replaced(args: Any) -> Mapping[str, str]:
    pairs = [text.partition("=") for text in args.replace_file or ()]
    wrong = (path for path, _, other in pairs if not (path and other))
    refuse(WrongArgumentsError, (f"--replace-file: '{printable(one)}' is not PATH=FILE. Write both." for one in wrong))
    return {path: other for path, _, other in pairs}


def _refuse_no_change(args: Any) -> None:
    has_states = args.replace_file or args.environment or args.from_ or args.to or args.policies_file
    if not (has_states or arguments.has_operations(args)):
        raise WrongArgumentsError(
            "No changes given. Add --add-config, --add-config-file, --delete-config, --append or --subtract as for "
            "alter, --replace-file, --environment, --policies-file, --from or --to."
        )


def _show(found: Plan, output: str) -> None:
    if not is_for_people(output):
        show_document(document(found), output)
        return
    for rows in (changed_keys(found), verdicts(found), running_tries(found)):
        if rows:
            show(rows, output)
            print()  # noqa: T201 - an empty line between tables
    for line in filter(None, (found.doubt(), found.summary())):
        print(line)  # noqa: T201 - the last lines of the result


class _FewNotes(Notes):
    """Prints the first notes, and in the end how many more there are: each of 10,000 tasks can cause one."""

    def __call__(self, text: str) -> None:
        """Print ``text``, unless it was printed before, or enough notes were."""
        if len(self._printed) < _MOST:
            super().__call__(text)
        else:
            self._printed[text] = None

    def end(self) -> None:
        """Print how many notes were not printed."""
        if (more := len(self._printed) - _MOST) > 0:
            self._printed.clear()
            super().__call__(f"{there_are(more, 'more note')}. Name a DAG or a task to see those about it.")
