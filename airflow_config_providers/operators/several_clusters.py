"""Layers for operators that start several clusters, each with its own Spark configuration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from airflow_config_providers.core import explain
from airflow_config_providers.core.keys import layer_problems
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource, LayeredConfig
from airflow_config_providers.core.resolver import ResolvedConfig
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException, PolicyViolation
from airflow_config_providers.job import nested_texts, policies
from airflow_config_providers.job.nested_texts import Path
from airflow_config_providers.job.resolver import JobResolver, PlacedText
from airflow_config_providers.operators.durable import DurableMixin
from airflow_config_providers.operators.in_place import ConfigProvidersMixin
from airflow_config_providers.spark.layers import ConfigFile, mapping_layer
from airflow_config_providers.spark.specification import is_specification


class SeveralClustersMixin(DurableMixin, ConfigProvidersMixin):
    """
    A mixin for operators that can start several clusters. Each gets the layers around its own configuration.

    The own configuration is ``DAG_CONFIG``: it overrides files, while the environment, dynamic configuration and the
    run override it. A task with one cluster is like any other; ``resolve_in`` applies to several as to one.
    """

    _shared: Mapping[str, str] = {}
    """The settled configuration of the layers, with references."""

    def _own_texts(self) -> Iterator[nested_texts.Text]:
        yield from super()._own_texts()
        for field, way in self._clusters():
            yield from nested_texts.texts(self._conf_at(field, way), nested_texts.label(field, way))

    def _layers(
        self, files: Sequence[ConfigFile], context: Any, jinja_env: Any, dynamic: Sequence[ConfigLayer]
    ) -> list[ConfigLayer]:
        """Return the layers without keys that all clusters override; their own configurations are not layers here."""
        layers = super()._layers(files, context, jinja_env, dynamic)
        return _without(_beaten_everywhere(layers, self._own_confs()), layers)

    def _require_allowed(self, layers: Sequence[ConfigLayer]) -> None:
        """Check the configuration of each cluster with the policies."""
        confs = self._own_confs()
        if not confs:
            super()._require_allowed(layers)
        problems = [problem for conf in confs for problem in self._objections(layers, conf)]
        if problems:
            raise PolicyViolation(*problems)

    def _objections(self, layers: Sequence[ConfigLayer], conf: ConfigLayer) -> list[str]:
        try:
            policies.require_allowed(self._resource(), [*layers, conf], self._references())
        except PolicyViolation as violation:
            return [f"{printable(conf.name)}: {problem}" for problem in violation.problems]
        return []

    def _resolved(self, resolver: JobResolver, layers: Sequence[ConfigLayer]) -> ResolvedConfig:
        """Resolve also the own configuration of each cluster, except keys that a layer overrides."""
        if not self._clusters():
            return super()._resolved(resolver, layers)
        confs = self._own_confs()
        names = {_name(conf, key) for conf in confs for key in conf.configs}
        texts = {name: text for name, text in self._texts().items() if name not in names}
        own = [PlacedText(_name(conf, key), key, conf.configs[key]) for conf in confs for key in _winning(conf, layers)]
        return resolver.resolve(layers, texts, own)

    def _own_confs(self) -> list[ConfigLayer]:
        """
        Return the own configuration of each cluster, with its place as name.

        :raises ConfigException: one has a key or a value that no layer may have
        """
        confs = ((nested_texts.label(field, way), self._conf_at(field, way)) for field, way in self._clusters())
        layers = [mapping_layer(ConfigSource.DAG_CONFIG, name, conf) for name, conf in confs]
        if problems := [text for layer in layers for problem in layer_problems(layer) for text in problem.problems]:
            raise ConfigException(*problems)
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
        for field, way in self._clusters():
            resolved = fields.get(field, getattr(self, field))
            own = self._conf_at(field, way)
            configs = self._run.configs()  # called for each cluster: a wrapped secret ID works for only one driver
            given = {key: value for key, value in configs.items() if own.get(key) == self._shared.get(key)}
            if given:
                fields[field] = nested_texts.put(resolved, way, {**(nested_texts.get(resolved, way) or {}), **given})
        return fields

    def _clusters(self) -> list[tuple[str, Path]]:
        """Return the places of the configurations; none if there is only one, which any operator can have."""
        return self._places() if self._place() is None else []

    def _may_be_remote(self) -> bool:
        return super()._may_be_remote() or (self._spec().is_remote and bool(self._clusters()))

    def _concerns_driver(self, layered: LayeredConfig) -> bool:
        keys = (key for conf in self._own_confs() for key in conf.configs)
        return super()._concerns_driver(layered) or any(map(is_specification, keys))

    def _notes(self) -> Iterable[str]:
        if not self._clusters():
            yield from super()._notes()
            return
        yield "Several clusters: each gets these layers around its own spark_conf, which the task's fields show."


def _name(conf: ConfigLayer, key: str) -> str:
    return f"{conf.name}[{key!r}]"


def _winning(conf: ConfigLayer, layers: Sequence[ConfigLayer]) -> list[str]:
    """Return the keys of ``conf`` that no layer overrides."""
    layered = LayeredConfig(layers)
    return [key for key in conf.configs if layered.source(key) <= conf.source]


def _beaten_everywhere(layers: Sequence[ConfigLayer], confs: Sequence[ConfigLayer]) -> set[str]:
    """Return the keys that no cluster gets from ``layers``, because each has its own value."""
    return set.intersection(*(set(_winning(conf, layers)) for conf in confs)) if confs else set()


def _without(keys: set[str], layers: Sequence[ConfigLayer]) -> list[ConfigLayer]:
    return [
        replace(layer, configs={key: text for key, text in layer.configs.items() if key not in keys})
        for layer in layers
    ]
