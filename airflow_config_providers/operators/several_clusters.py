"""Operators that start several clusters, each with a Spark configuration of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from airflow_config_providers.core import explain
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource, LayeredConfig
from airflow_config_providers.operators import job_policies, nested_texts
from airflow_config_providers.operators.in_place import ConfigProvidersMixin
from airflow_config_providers.operators.nested_texts import Path
from airflow_config_providers.spark.layers import ConfigFile, mapping_layer


class SeveralClustersMixin(ConfigProvidersMixin):
    """
    Stands in front of an operator that may start several clusters: each gets the layers around what it has itself.

    What a cluster has counts as ``DAG_CONFIG``: it beats files, and gives way to the environment, to what was changed
    since, and to the run. Its references are resolved on the worker. A task with one cluster is as any other.
    """

    _shared: Mapping[str, str] = {}
    """What the layers gave, with references."""

    def _own_texts(self) -> Iterator[nested_texts.Text]:
        yield from super()._own_texts()
        for field, way in self._clusters():
            yield from nested_texts.texts(self._conf_at(field, way), nested_texts.label(field, way))

    def _layers(
        self, files: Sequence[ConfigFile], context: Any, jinja_env: Any, dynamic: Sequence[ConfigLayer]
    ) -> list[ConfigLayer]:
        """Give what all clusters get; the deployment's policies are asked about what each one gets."""
        layers = super()._layers(files, context, jinja_env, dynamic)
        if not self._is_preview(context):
            for field, way in self._clusters():
                own = mapping_layer(ConfigSource.DAG_CONFIG, nested_texts.label(field, way), self._conf_at(field, way))
                job_policies.require_allowed(self._resource(), [*layers, own], self._references())
        return layers

    def _show_conf(self, layered: LayeredConfig) -> None:
        super()._show_conf(layered)
        self._shared = explain.texts(layered)
        for field, way in self._clusters():
            own = self._conf_at(field, way)
            kept = {key: text for key, text in own.items() if layered.source(key) <= ConfigSource.DAG_CONFIG}
            if layered.settled:
                setattr(self, field, nested_texts.put(getattr(self, field), way, {**self._shared, **kept}))

    def _with_conf(self, fields: dict[str, Any]) -> dict[str, Any]:
        fields = super()._with_conf(fields)
        configs = self._run.configs()
        for field, way in self._clusters():
            resolved = fields.get(field, getattr(self, field))
            own = self._conf_at(field, way)
            given = {key: value for key, value in configs.items() if own.get(key) == self._shared.get(key)}
            if given:
                fields[field] = nested_texts.put(resolved, way, {**(nested_texts.get(resolved, way) or {}), **given})
        return fields

    def _clusters(self) -> list[tuple[str, Path]]:
        """Give where the configurations are; none where there is one, which has the layers as any operator's has."""
        return self._places() if self._place() is None else []

    def _notes(self) -> Iterable[str]:
        if not self._clusters():
            yield from super()._notes()
            return
        yield ("Several clusters: each gets these layers around its own spark_conf, which the task's fields show.")
