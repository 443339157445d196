"""What policies see of a task that is about to run (KIP-935)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.core.data import HIDDEN
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource, LayeredConfig
from airflow_config_providers.core.policy import Moment, RequestMetadata
from airflow_config_providers.job.authored_job import AuthoredJob, referring_paths
from airflow_config_providers.job.nested_texts import label_below
from airflow_config_providers.spark.arguments import ANYWHERE, FALLBACK_VARIABLES, OVERRIDING_VARIABLES
from airflow_config_providers.spark.catalogue import spark_definition


def policy_request(
    resource: ConfigResource,
    layers: Sequence[ConfigLayer],
    texts: Mapping[str, str],
    *,
    spark_version: str | None = None,
) -> RequestMetadata:
    """
    Return what policies see of a task that is about to run.

    Before the change, the task has no dynamic layers and no run configuration; after it, it has what would be
    submitted. Both contain references, and ``[hidden]`` in place of plain-text secrets.

    :param layers: all layers of the task
    :param texts: name -> string for references outside its configuration
    :param spark_version: the version of the Spark that runs the job; None if it is not known
    """
    definition = spark_definition(spark_version)
    before = LayeredConfig(list(_deployed(layers, definition.names())), definition)
    after = LayeredConfig(layers, definition)
    return RequestMetadata(
        resource,
        before.shown(),
        after.shown(),
        at=Moment.RENDER,
        hidden_changes=frozenset(_hidden_changes(before, after)),
        texts=texts,
        origins={key: after.origin(key) for key in after.settled},
    )


def deployed_request(task: ConfigResource, layers: Sequence[ConfigLayer], job: AuthoredJob) -> RequestMetadata:
    """
    Return what policies would see of a run of a deployed task, of which it is not known where it runs.

    :param layers: all layers of the task
    """
    texts = {**job.texts, **referring_paths(job.files.values())}
    return policy_request(task, with_environment(layers, job.environment), texts)


def _deployed(layers: Sequence[ConfigLayer], known: Collection[str]) -> Iterator[ConfigLayer]:
    """Yield the layers that cannot change; of the environment, only keys that do not depend on the others."""
    kept = [layer for layer in layers if not layer.source.is_steered]
    keys = {key for layer in kept if layer.source is not ConfigSource.ENVIRONMENT_CONFIG for key in layer.configs}
    for layer in kept:
        if layer.source is ConfigSource.ENVIRONMENT_CONFIG:
            configs = {key: text for key, text in layer.configs.items() if key in keys or key in known}
            yield replace(layer, configs=configs)
        else:
            yield layer


def _hidden_changes(before: LayeredConfig, after: LayeredConfig) -> Iterator[str]:
    """Yield the keys whose secret changes, although the hidden string is the same."""
    for key, text in after.shown().items():
        if text == HIDDEN and (key in after.secrets or before.settled.get(key) != after.settled[key]):
            yield key


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
