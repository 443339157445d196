"""Layers of Spark configuration from mappings and from the environment; ``layer_files`` reads those in files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from airflow_config_providers.core.definition.config_def import ConfigDef
from airflow_config_providers.core.java_text import written
from airflow_config_providers.core.keys import is_reserved
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException, refuse
from airflow_config_providers.spark.driver_providers import is_driver_definition

_SERVICE_LINK: Final = re.compile(r"(tcp|udp|sctp)://(\[[0-9A-Fa-f:.]+\]|[0-9.]+):[0-9]{1,5}", re.ASCII)
"""The values that Kubernetes sets for ``<SERVICE>_PORT`` and ``<SERVICE>_PORT_<number>_TCP``."""


def mapping_layer(source: ConfigSource, name: str, configs: Any) -> ConfigLayer:
    """
    Return a layer for a mapping. Numbers and booleans are converted to strings as Spark writes them.

    :raises ConfigException: it is not a mapping, or has values other than strings, numbers and booleans
    """
    if not isinstance(configs, Mapping):
        raise ConfigException(
            f"{name}: expected a mapping of key to value, found {type(configs).__name__}. Write a dict. If a template "
            f"returns it, set render_template_as_native_obj=True in the DAG."
        )
    texts = {key: written(value) if isinstance(value, str | float | int) else None for key, value in configs.items()}
    problems = [
        f"{name}: '{printable(str(key))}' has a value of type {type(configs[key]).__name__}. "
        f"Write a string, a number or a boolean."
        for key, text in texts.items()
        if text is None
    ]
    problems += [
        f"{name}: the key '{printable(str(key))}' is not a string." for key in configs if not isinstance(key, str)
    ]
    refuse(ConfigException, problems)
    return ConfigLayer(source, name, {key: text for key, text in texts.items() if text is not None})


def pairs(conf: Mapping[str, Any] | str) -> Mapping[str, Any]:
    """Return a configuration as a mapping; spark-sql's form ``key=value,key=value`` is parsed."""
    if not isinstance(conf, str):
        return conf
    return {key.strip(): value for key, _, value in (part.partition("=") for part in conf.split(","))}


def environment_layer(
    environ: Mapping[str, str], keys: Iterable[str], definition: ConfigDef | None = None
) -> tuple[ConfigLayer, list[str]]:
    """
    Return a layer for the environment variables that override one of ``keys``.

    Kubernetes sets variables for services in each pod, such as ``SPARK_UI_PORT=tcp://10.0.0.1:4040``. They are not
    meant as configuration, so one that does not fit the type of its key is ignored.

    :param definition: the types of the keys
    :return: the layer, and a sentence for each ignored variable and for each key that several variables set to
        different values
    """
    from airflow_config_providers.core.environment import EnvironmentOverrides  # noqa: PLC0415 - few deployments allow it

    overrides, definition = EnvironmentOverrides(environ), definition or ConfigDef()
    found = {key: name for key in keys if not _is_of_deployment(key) and (name := overrides.origin(key)) is not None}
    origins = {key: name for key, name in found.items() if not _is_service_link(key, environ[name], definition)}
    doubts = [_left_out(key, name) for key, name in found.items() if key not in origins]
    doubts += [
        f"{key} is set by {' and '.join(names)} to different values; {origins[key]} wins."
        for key in origins
        if (names := overrides.ambiguous(key))
    ]
    configs = {key: overrides.lookup(key) or "" for key in origins}
    described = {key: f"environment variable {name}" for key, name in origins.items()}
    return ConfigLayer(ConfigSource.ENVIRONMENT_CONFIG, "environment", configs, described), doubts


def _is_of_deployment(key: str) -> bool:
    """Return whether ``key`` defines providers, for the worker or for a driver."""
    return is_reserved(key) or is_driver_definition(key)


def _is_service_link(key: str, text: str, definition: ConfigDef) -> bool:
    is_typed = key in definition.names()
    return is_typed and _SERVICE_LINK.fullmatch(text) is not None and bool(definition.misfits(key, text))


def _left_out(key: str, name: str) -> str:
    return (
        f"The environment variable {name} is ignored: it looks like a service link of Kubernetes, and does not fit "
        f"{key}. Set enableServiceLinks: false for the pod, or rename the service."
    )
