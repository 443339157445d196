"""The run configuration of a job, which people who trigger the run write: ignored or refused unless it is allowed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from airflow_config_providers import settings
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import scan
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.spark.expansion import is_substituted
from airflow_config_providers.spark.layer_sources import mapping_layer


def run_layers(run_conf: Mapping[str, Any], *, warn: Callable[[str], None]) -> Iterator[ConfigLayer]:
    """
    Yield the layer of the run configuration, if there is one that the deployment allows.

    :param run_conf: ``dag_run.conf``
    :param warn: is called with a note if it is ignored
    :raises ConfigException: it has references, or strings that Spark would replace, and the deployment forbids them
    """
    key = settings.run_config_key()
    if key not in run_conf:
        return
    name = f"dag_run.conf[{key!r}]"
    if not settings.run_config_enabled():
        warn(
            f"{name} is ignored: this deployment does not allow it. To allow it, set [config_providers] "
            f"run_config_enabled, and restart what runs tasks."
        )
        return
    layer = mapping_layer(ConfigSource.RUN_CONFIG, name, run_conf[key])
    if not settings.run_config_references():
        _refuse_references(layer)
    yield layer


def _refuse_references(layer: ConfigLayer) -> None:
    problems = [
        f"{printable(key)} in {layer.name} holds a reference. Permission to trigger a run does not grant permission to "
        f"read secrets. Write the reference in the DAG, in a file, or in the dynamic configuration, or set "
        f"[config_providers] run_config_references. Do not pass the secret itself: Airflow stores and shows the "
        f"configuration of a run."
        for key, text in layer.configs.items()
        if scan(text)
    ]
    problems += [
        f"{printable(key)} in {layer.name} holds a string that Spark, Hadoop or Databricks would replace by another "
        f"key, an environment variable, a system property or a secret. Permission to trigger a run does not grant "
        f"permission to read them. Write the value itself, or set [config_providers] run_config_references."
        for key, text in layer.configs.items()
        if is_substituted(key, text) and not scan(text)
    ]
    if problems:
        raise ConfigException(*problems)
