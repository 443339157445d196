"""Checks a task that is about to run with the deployment's policies (KIP-935)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from airflow_config_providers import settings
from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.core.layers import ConfigLayer
from airflow_config_providers.core.text import one_line
from airflow_config_providers.exceptions import ConfigProvidersError, listed

if TYPE_CHECKING:
    from airflow_config_providers.dynamic.policies import PolicySet


def require_allowed(
    resource: ConfigResource,
    layers: Sequence[ConfigLayer],
    texts: Mapping[str, str] | None = None,
    *,
    warn: Callable[[str], object],
    spark_version: str | None = None,
) -> tuple[str, ...]:
    """
    Check what ``policy_request`` returns for a task, and return the names of the policies that allow it.

    If the policies cannot be loaded, the configuration is denied.

    :param layers: all layers of the task
    :param texts: name -> string for references outside its configuration
    :param warn: is called with each reason for which a policy that only warns would deny it
    :param spark_version: the version of the Spark that runs the job; None if it is not known
    :raises PolicyViolation: policies deny it; lists each of them with its reasons
    """
    if not settings.policies_file():
        return ()
    from airflow_config_providers.core.policy import judged  # noqa: PLC0415 - only with policies
    from airflow_config_providers.spark.policy_request import policy_request  # noqa: PLC0415 - as above

    request = policy_request(resource, layers, texts or {}, spark_version=spark_version)
    with deployment_policies() as policies:
        found = judged(policies, request)
    for text in listed([one.text for one in found.warnings]):
        warn(one_line(text))
    found.enforce()
    return found.allowed_by


def deployment_policies() -> PolicySet:
    """Return the policies of the deployment; if they cannot be loaded, the set denies everything."""
    from airflow_config_providers.dynamic.policies import PolicySet  # noqa: PLC0415 - not needed to parse a DAG

    path = settings.policies_file()
    try:
        return open_policies(path) if path else PolicySet([])
    except ConfigProvidersError as error:
        return PolicySet.denying(error)


def open_policies(path: str) -> PolicySet:
    """
    Return the policies in a file, with the classes that this deployment allows.

    :raises ConfigException: the file is wrong; lists all problems
    """
    from airflow_config_providers.dynamic.policies import PolicySet  # noqa: PLC0415 - as above
    from airflow_config_providers.dynamic.policies.classes import PolicyClasses  # noqa: PLC0415 - as above

    return PolicySet.open(path, PolicyClasses(settings.allowed_policy_classes()))
