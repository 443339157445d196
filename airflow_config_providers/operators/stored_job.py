"""What Airflow stores with a DAG of a job whose configuration is anywhere in its operator's fields."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from airflow_config_providers.core import explain
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource, LayeredConfig
from airflow_config_providers.spark.catalogue import spark_definition


@dataclass(frozen=True, slots=True)
class StoredJob:
    """
    What the author of a DAG wrote, nothing in it filled in, so that it is described without a run.

    :param layers: the author's; ``[hidden]`` stands for a secret that is written out
    :param texts: what else holds references, by a name that people understand
    """

    layers: tuple[ConfigLayer, ...]
    texts: Mapping[str, str]

    @classmethod
    def of(cls, layers: Iterable[ConfigLayer], texts: Mapping[str, str]) -> StoredJob:
        """Take what may be stored."""
        return cls(tuple(ConfigLayer(layer.source, layer.name, _shown(layer)) for layer in layers), texts)

    @classmethod
    def read(cls, text: str) -> StoredJob:
        """Read what ``text`` gave."""
        found = json.loads(text)
        layers = (ConfigLayer(ConfigSource.DAG_CONFIG, name, configs) for name, configs in found["layers"])
        return cls(tuple(layers), found["texts"])

    def text(self) -> str:
        """Give it as Airflow stores it."""
        return json.dumps({"layers": [(layer.name, dict(layer.configs)) for layer in self.layers], "texts": self.texts})


def _shown(layer: ConfigLayer) -> dict[str, str]:
    return explain.texts(LayeredConfig([layer], spark_definition()))
