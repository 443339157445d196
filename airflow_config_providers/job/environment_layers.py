"""The layers of keys that ``env_vars`` set, for policies, and what these see of a deployed task."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.core.policy import RequestMetadata
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.job.authored_job import AuthoredJob, referring_paths
from airflow_config_providers.job.nested_texts import label_below
from airflow_config_providers.spark.named_arguments import ANYWHERE, FALLBACK_VARIABLES, OVERRIDING_VARIABLES
from airflow_config_providers.spark.policy_request import policy_request


def deployed_request(task: ConfigResource, layers: Sequence[ConfigLayer], job: AuthoredJob) -> RequestMetadata:
    """
    Return what policies would see of a run of a deployed task, of which it is not known where it runs.

    :param layers: all layers of the task
    """
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
