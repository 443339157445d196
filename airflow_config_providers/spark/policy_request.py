"""What policies see of the job of a task that is about to run, or was (KIP-935)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from airflow_config_providers.core.layers import ConfigLayer, ConfigSource, LayeredConfig
from airflow_config_providers.core.policy import Moment, RequestMetadata
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.core.sensitive import HIDDEN
from airflow_config_providers.core.variable import parse
from airflow_config_providers.spark.catalogue import spark_definition
from airflow_config_providers.spark.substitutions import has_signs, signs_in


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
    submitted. Both contain references, also beside plain-text secrets, and ``[hidden]`` in place of the latter.

    :param layers: all layers of the task
    :param texts: name -> string for references outside its configuration
    :param spark_version: the version of the Spark that runs the job; None if it is not known
    """
    definition = spark_definition(spark_version)
    before = LayeredConfig(list(_deployed(layers, definition.names())), definition)
    after = LayeredConfig(layers, definition)
    return RequestMetadata(
        resource,
        seen_by_policies(before),
        seen_by_policies(after),
        at=Moment.RENDER,
        hidden_changes=frozenset(_hidden_changes(before, after)),
        texts=texts,
        origins={key: after.origin(key) for key in after.settled},
    )


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


def seen_by_policies(layered: LayeredConfig) -> dict[str, str]:
    """Return key -> string as policies see it; a secret hides neither a reference nor what Spark reads beside it."""
    return {key: value_seen_by_policies(key, layered) for key in layered.settled}


def value_seen_by_policies(key: str, layered: LayeredConfig) -> str:
    """Return the string of ``key`` as policies see it, and as Airflow stores it of a task."""
    shown = layered.describe(key).value
    return _without_secret(key, layered) if shown is None else shown


def _without_secret(key: str, layered: LayeredConfig) -> str:
    """Return the string of ``key``, which has a secret in it; of a key that Spark knows, policies see all."""
    text, definition = layered.settled[key], layered.definition
    if key in definition.config_keys and not definition.is_sensitive(key):
        return text
    without = signs_in if has_signs(key, text) else _nothing
    return "".join(without(part) if isinstance(part, str) else str(part) for part in parse(text))


def _nothing(text: str) -> str:
    return HIDDEN


def _hidden_changes(before: LayeredConfig, after: LayeredConfig) -> Iterator[str]:
    """Yield the keys whose secret changes, although the hidden string is the same."""
    for key, text in after.shown().items():
        if text == HIDDEN and (key in after.secrets or before.settled.get(key) != after.settled[key]):
            yield key
