"""The command that tests policies."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from airflow_config_providers import settings
from airflow_config_providers.cli import arguments
from airflow_config_providers.cli.failing import UNDECIDED, Finished, Notes, WrongArgumentsError, reporting_errors
from airflow_config_providers.cli.output import is_for_people, show
from airflow_config_providers.cli.target import require_here
from airflow_config_providers.core.alter import AlterConfigOp
from airflow_config_providers.core.policy import Moment, PolicyViolation, RequestMetadata
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.core.templates import ONLY_A_RUN_KNOWS, is_known_only_in_run
from airflow_config_providers.deployment.admin import DeployedLayers, admin
from airflow_config_providers.deployment.rows import Row
from airflow_config_providers.dynamic.policies.policy_set import DENIES, WARNS, LastRequest, PolicyVerdict, verdict_of
from airflow_config_providers.exceptions import ConfigException, listed, refuse
from airflow_config_providers.job.policies import deployed_request, open_policies


@reporting_errors
def test(args: Any) -> None:
    """Open the policies, and ask each of them about the given change."""
    require_here("policies test")
    resource, operations = _resource_and_operations(args)
    notes = Notes()
    arguments.note_changes(args, notes)
    path = args.policies_file or settings.policies_file()
    if not path:
        raise ConfigException(
            "This deployment has no policies. Set policies_file in [config_providers], or add --policies-file."
        )
    with open_policies(path) as policies:
        asked = [(None, True)] if resource is None else _requests(args, resource, operations)
        verdicts = [
            verdict_of(policy, request, is_whole=is_whole) for policy in policies for request, is_whole in asked
        ]
    if resource is None:
        notes("Each policy can be opened. To ask them about a change, name a resource, such as --dag DAG_ID.")
    rows = [_row(verdict, is_whole=not is_for_people(args.output)) for verdict in verdicts]
    show(rows, args.output, nothing="No policies.")
    for text in listed(_reasons(verdicts, WARNS)):
        notes(text)
    refuse(PolicyViolation, _reasons(verdicts, DENIES))
    if args.detailed_exit_code and any(verdict.text == ONLY_A_RUN_KNOWS for verdict in verdicts):
        raise Finished(UNDECIDED)


def _resource_and_operations(args: Any) -> tuple[ConfigResource | None, list[AlterConfigOp]]:
    resource, operations, _ = arguments.together(
        partial(arguments.optional_resource, args, is_needed=bool(args.at) or arguments.has_operations(args)),
        lambda: arguments.operations(args) if arguments.has_operations(args) else [],
        partial(_refuse_run_of_none, args),
    )
    return resource, operations


def _refuse_run_of_none(args: Any) -> None:
    if args.at == Moment.RENDER.value and arguments.has_resource(args) and not args.task:
        raise WrongArgumentsError("--at render requires a task. Add --task TASK_ID, or remove --at.")


def _requests(
    args: Any, resource: ConfigResource, operations: list[AlterConfigOp]
) -> list[tuple[RequestMetadata | None, bool]]:
    """
    Return the requests that policies see when the change is made, and when the task runs with it.

    Each has whether that run has nothing else, such as a file whose path is a template.
    """
    seen, notes = LastRequest(), Notes()
    moments = [Moment(args.at)] if args.at else [*Moment]
    done = admin(notes, [seen]).incremental_alter_configs({resource: operations}, validate_only=True)[resource]
    requests: list[tuple[RequestMetadata | None, bool]] = [(seen.request, True)] if Moment.ALTER in moments else []
    if Moment.RENDER in moments and resource.task_id:
        layers = DeployedLayers(notes)
        job = layers.job(resource)
        is_whole = not any(map(is_known_only_in_run, layers.files(resource)))
        requests += [] if job is None else [(deployed_request(resource, done.layers, job), is_whole)]
    return requests


def _reasons(verdicts: Sequence[PolicyVerdict], text: str) -> list[str]:
    return [reason for verdict in verdicts if verdict.text == text for reason in verdict.reasons]


def _row(verdict: PolicyVerdict, *, is_whole: bool) -> Row:
    """Return a row; the whole one has the reasons, which people get as errors."""
    row = {"policy": verdict.policy, "at": verdict.at and verdict.at.value, "verdict": verdict.text}
    return {**row, "reasons": list(verdict.reasons)} if is_whole else row
