"""What Airflow stores with a DAG about a job whose configuration is somewhere in its operator's fields."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from airflow_config_providers.core import explain
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource, LayeredConfig
from airflow_config_providers.core.variable import scan
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.job import nested_texts
from airflow_config_providers.job.supported import OperatorSpec
from airflow_config_providers.spark.catalogue import spark_definition
from airflow_config_providers.spark.layers import mapping_layer, pairs


@dataclass(frozen=True, slots=True)
class StoredJob:
    """
    What the author of a DAG wrote, with templates unrendered, to describe it without a run.

    :param layers: the author's layers, with ``[hidden]`` in place of plain-text secrets
    :param texts: label -> text for references outside the layers
    """

    layers: tuple[ConfigLayer, ...]
    texts: Mapping[str, str]

    @classmethod
    def of(cls, layers: Iterable[ConfigLayer], texts: Mapping[str, str]) -> StoredJob:
        """Return a job without its plain-text secrets, which must not be stored."""
        return cls(tuple(_open(layer) for layer in layers), texts)

    @classmethod
    def text_of(cls, layers: Callable[[], Iterable[ConfigLayer]], texts: Callable[[], Mapping[str, str]]) -> str | None:
        """Return the text that Airflow stores; None if the configuration is known only in a run."""
        try:
            return cls.of(layers(), texts()).text()
        except ConfigException:
            return None

    @classmethod
    def of_arguments(cls, spec: OperatorSpec, arguments: Mapping[str, Any], fields: Iterable[str]) -> StoredJob:
        """
        Return the job of an operator that is created with ``arguments``.

        :param fields: its template fields
        :raises ConfigException: the configuration is known only in a run
        """
        kept = _fields(spec, arguments)
        found = nested_texts.places(spec.conf, kept.get)
        layers: list[ConfigLayer] = []
        if len(found) == 1:
            ((field, way),) = found
            conf, name = nested_texts.get(kept.get(field), way) or {}, nested_texts.label(field, way).removeprefix("_")
            layers.append(mapping_layer(ConfigSource.DAG_CONFIG, name, conf if way else pairs(conf)))
            kept[field] = nested_texts.put(kept.get(field), way, None)
        names = dict.fromkeys([*fields, *spec.fields, *(place.field for place in spec.conf)])
        return cls.of(layers, dict(_referring({name: kept.get(name) for name in names})))

    @classmethod
    def read(cls, text: str) -> StoredJob:
        """Return the job in ``text``, which the method ``text`` has written."""
        found = json.loads(text)
        layers = (ConfigLayer(ConfigSource.DAG_CONFIG, *fields) for fields in found["layers"])
        return cls(tuple(layers), found.get("texts", {}))

    def text(self) -> str:
        """Return the job as Airflow stores it, without empty parts."""
        layers = [(layer.name, dict(layer.configs), *filter(None, [dict(layer.origins)])) for layer in self.layers]
        texts = {"texts": dict(self.texts)} if self.texts else {}
        return json.dumps({"layers": layers, **texts}, separators=(",", ":"))


def _open(layer: ConfigLayer) -> ConfigLayer:
    shown = explain.texts(LayeredConfig([layer], spark_definition()))
    origins = {key: text for key, text in layer.origins.items() if key in shown}
    return ConfigLayer(layer.source, layer.name, shown, origins)


def _fields(spec: OperatorSpec, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes that an operator makes of its arguments."""
    kept: dict[str, Any] = {}
    for name, value in arguments.items():
        field, *way = spec.arguments.get(name, (name,))
        kept[field] = nested_texts.put(kept.get(field, {}), tuple(way), value)
    return kept


def _referring(fields: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in fields.items():
        for text in nested_texts.texts(value, name):
            if scan(text.text):
                yield text.label, text.text
