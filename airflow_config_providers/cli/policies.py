"""The command that tries policies."""

from __future__ import annotations

from typing import Any

from airflow_config_providers import settings
from airflow_config_providers.cli import arguments
from airflow_config_providers.cli.deployment import admin
from airflow_config_providers.cli.failing import Notes, WrongArgumentsError, told
from airflow_config_providers.cli.output import Row, show
from airflow_config_providers.core.policy import (
    AlterConfigPolicy,
    NamedPolicy,
    PolicyViolation,
    RequestMetadata,
    validate_all,
)
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.operators.job_policies import open_policies


@told
def test(args: Any) -> None:
    """Open the policies, and ask each about a change that is given."""
    path = args.policies_file or settings.policies_file()
    if not path:
        raise ConfigException("This deployment has no policies. Set policies_file in [config_providers], or name one.")
    is_change = arguments.has_resource(args)
    if not is_change and arguments.has_operations(args):
        raise WrongArgumentsError("Whose change is it? Add --default, --dag DAG_ID, or --dag DAG_ID --task TASK_ID.")
    with open_policies(path) as policies:
        request = _request(args) if is_change else None
        verdicts = [(policy, _denial(policy, request)) for policy in policies]
    show([_row(policy, denial, asked=is_change) for policy, denial in verdicts], args.output, nothing="No policies.")
    if problems := [problem for _, denial in verdicts if denial for problem in denial.problems]:
        raise PolicyViolation(*problems)


def _request(args: Any) -> RequestMetadata:
    """Give the change as policies see it; where none is given, that of what there is to itself."""
    resource, seen = arguments.resource(args), _Seeing()
    operations = arguments.operations(args) if arguments.has_operations(args) else []
    admin(Notes(), [seen]).incremental_alter_configs({resource: operations}, validate_only=True)
    return seen.request


class _Seeing(AlterConfigPolicy):
    """Allows everything, and keeps what it was asked last."""

    request: RequestMetadata

    def validate(self, request: RequestMetadata) -> None:
        self.request = request


def _denial(policy: NamedPolicy, request: RequestMetadata | None) -> PolicyViolation | None:
    try:
        if request is not None:
            validate_all([policy], request)
    except PolicyViolation as violation:
        return violation
    return None


def _row(policy: NamedPolicy, denial: PolicyViolation | None, *, asked: bool) -> Row:
    verdict = ("denies" if denial else "allows") if asked else None
    return {"policy": policy.name, "verdict": verdict, "reasons": list(denial.problems) if denial else []}
