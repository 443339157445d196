"""What the deployment's policies see of a task, and what they say of one that is about to run (KIP-935)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Final, Self

from airflow_config_providers import settings
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.core.text import in_all, one_line, printable
from airflow_config_providers.exceptions import ConfigProvidersError, listed
from airflow_config_providers.job.authored_job import AuthoredJob, referring_paths
from airflow_config_providers.job.nested_texts import label_below
from airflow_config_providers.spark.named_arguments import ANYWHERE, FALLBACK_VARIABLES, OVERRIDING_VARIABLES

if TYPE_CHECKING:
    from airflow_config_providers.core.policy import RequestMetadata
    from airflow_config_providers.dynamic.policies import PolicySet


def deployed_request(task: ConfigResource, layers: Sequence[ConfigLayer], job: AuthoredJob) -> RequestMetadata:
    """
    Return what policies would see of a run of a deployed task, of which it is not known where it runs.

    :param layers: all layers of the task
    """
    from airflow_config_providers.spark.policy_request import policy_request  # noqa: PLC0415 - only with policies

    texts = {**job.texts, **referring_paths(job.files.values())}
    return policy_request(task, with_environment(layers, job.environment), texts)


def with_environment(
    layers: Sequence[ConfigLayer], environment: Mapping[str, str], prefixes: Collection[str] = ANYWHERE
) -> list[ConfigLayer]:
    """
    Return ``layers`` and those of the keys that environment variables set, as if the DAG had set these keys.

    :param environment: name -> string of each variable
    :param prefixes: those under which variables are keys; such keys win over every layer
    """
    if not environment:
        return list(layers)
    strong = _environment_layer(
        (key, name, text) for name, text in environment.items() for key in _overridden(name, prefixes)
    )
    found = [_without(layer, strong.configs) for layer in layers]
    written = {key for layer in found if layer.source <= ConfigSource.DAG_CONFIG for key in layer.configs}
    weak = _environment_layer(
        (key, name, environment[name])
        for name, keys in FALLBACK_VARIABLES.items()
        if name in environment
        for key in keys
    )
    return [*found, _without(weak, written), strong]


def _overridden(name: str, prefixes: Collection[str]) -> Iterator[str]:
    """Yield the keys that a variable sets whatever the layers have."""
    yield from OVERRIDING_VARIABLES.get(name, ())
    yield from (f"{prefix}{name}" for prefix in prefixes)


def _environment_layer(settings: Iterable[tuple[str, str, str]]) -> ConfigLayer:
    """Return the layer of settings, which are a key, the variable that sets it, and its string."""
    found = list(settings)
    origins = {key: label_below("env_vars", name) for key, name, _ in found}
    return ConfigLayer(ConfigSource.DAG_CONFIG, "env_vars", {key: text for key, _, text in found}, origins)


def _without(layer: ConfigLayer, keys: Collection[str]) -> ConfigLayer:
    configs = {key: text for key, text in layer.configs.items() if key not in keys}
    secrets = {key: secret for key, secret in layer.secrets.items() if key not in keys}
    return replace(layer, configs=configs, secrets=secrets)


@dataclass(frozen=True, slots=True)
class TaskVerdict:
    """
    What the deployment's policies say about a configuration.

    :param allowed_by: the names of those that allow it
    :param warnings: the reasons for which those that only warn would deny it, a line each
    :param denials: the reasons of those that deny it
    """

    allowed_by: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    denials: tuple[str, ...] = ()

    def about(self, cluster: str) -> TaskVerdict:
        """Return the verdict with the name of the cluster that it is about before each reason."""
        begins = f"{printable(cluster)}: "
        warnings, denials = (tuple(begins + one for one in found) for found in (self.warnings, self.denials))
        return replace(self, warnings=warnings, denials=denials)

    @classmethod
    def on_all(cls, verdicts: Sequence[TaskVerdict]) -> Self:
        """Return one verdict on several clusters, which is allowed by the policies that allow each of them."""
        allowed_by = in_all([one.allowed_by for one in verdicts])
        warnings = chain.from_iterable(one.warnings for one in verdicts)
        denials = chain.from_iterable(one.denials for one in verdicts)
        return cls(tuple(allowed_by), tuple(warnings), tuple(denials))


NO_VERDICT: Final = TaskVerdict()
"""The verdict without policies, or before they are asked."""


def verdict_on(
    resource: ConfigResource,
    layers: Sequence[ConfigLayer],
    texts: Mapping[str, str],
    *,
    spark_version: str | None = None,
) -> TaskVerdict:
    """
    Check the configuration of a task that is about to run. If the policies cannot be loaded, it is denied.

    :param layers: all layers of the task
    :param texts: name -> string for references outside its configuration
    :param spark_version: the version of the Spark that runs the job; None if it is not known
    """
    from airflow_config_providers.core.policy import judged  # noqa: PLC0415 - only with policies
    from airflow_config_providers.spark.policy_request import policy_request  # noqa: PLC0415 - as above

    request = policy_request(resource, layers, texts, spark_version=spark_version)
    with deployment_policies() as policies:
        found = judged(policies, request)
    warnings = map(one_line, listed([one.text for one in found.warnings]))
    return TaskVerdict(found.allowed_by, tuple(warnings), tuple(one.text for one in found.denials))


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
