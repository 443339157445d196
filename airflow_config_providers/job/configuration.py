"""The configuration of one run of a job: settled, checked with policies, and resolved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.core.layers import ConfigLayer, LayeredConfig, layer_problems
from airflow_config_providers.core.text import one_line, printable
from airflow_config_providers.core.variable import scan
from airflow_config_providers.exceptions import ConfigException, PolicyViolation
from airflow_config_providers.job import dynamic_layers, policies
from airflow_config_providers.job.authored_job import AuthoredJob, referring_paths
from airflow_config_providers.job.driver_resolver import Driver, DriverResolver, concerns_driver, driver_definitions
from airflow_config_providers.job.job_layers import JobLayers
from airflow_config_providers.job.options import JobOptions
from airflow_config_providers.job.providers import JobProviders
from airflow_config_providers.job.resolver import JobResolver, PlacedText
from airflow_config_providers.job.run import JobRun
from airflow_config_providers.job.template_references import FilledIn
from airflow_config_providers.spark.layer_files import ConfigFile


@dataclass(frozen=True, slots=True)
class Shown:
    """
    What people see of a job.

    :param layered: the settled configuration, with references
    :param notes: notes for the reader
    """

    layered: LayeredConfig
    notes: Sequence[str] = ()

    def lines(self) -> list[str]:
        """Return the lines of ``effective_config``."""
        return [*(f"! {one_line(note)}" for note in self.notes), *self.layered.lines()]


@dataclass(frozen=True, slots=True)
class JobConfiguration:
    """
    The configuration of one run of a job.

    :param job: what the author wrote, with rendered templates
    :param files: all properties files, strongest last
    :param driver: the driver of the job
    :param run_conf: ``dag_run.conf``
    :param render: renders a template in a properties file
    :param warn: is called with each note for the reader of the task log
    :param takes_any_key: whether the job also gets keys that do not begin with ``spark.``
    """

    resource: ConfigResource
    job: AuthoredJob
    files: Sequence[ConfigFile]
    driver: Driver
    run_conf: Mapping[str, Any] | None
    render: Callable[[str], FilledIn]
    warn: Callable[[str], None]
    takes_any_key: bool = False

    def preview(self) -> Shown:
        """Return what would be submitted, with notes about what would fail or differ in a run."""
        notes: list[str] = []
        files = [file for file in self.files if not scan(file.path)]
        notes += [f"{place} contains a reference, so the file is not shown." for place in self._referring_paths()]
        layers = self._collect(files, dynamic_layers.previewed(self.resource, warn=notes.append))
        layered = self._resolver(JobProviders(self.job.options.conn_id)).settle(layers)
        try:
            self._require_allowed(layers)
        except PolicyViolation as violation:
            notes += violation.problems
        return Shown(layered, notes)

    def resolve(self) -> JobRun:
        """
        Return the run, with values.

        :raises ConfigProvidersError: the configuration is wrong or not allowed, or a reference cannot be resolved
        """
        with ExitStack() as stack:
            worker = self._resolver(stack.enter_context(JobProviders(self.job.options.conn_id)))
            layers = self._collect(worker.locate(self.files), dynamic_layers.layers(self.resource))
            layered = worker.settle(layers)
            self._require_allowed(layers)
            resolver = self._placed(worker, layered)
            resolved = resolver.resolve(layered, *self._texts(layered))
            return JobRun(resolved, resolver, end=stack.pop_all().close)

    def _resolver(self, providers: JobProviders) -> JobResolver:
        return _worker(providers, self.job.options)

    def _texts(self, layered: LayeredConfig) -> tuple[Mapping[str, str], list[PlacedText]]:
        """Return the texts outside the layers, and the keys of each of several clusters that no layer overrides."""
        names = {_name(cluster, key) for cluster in self.job.clusters for key in cluster.configs}
        texts = {label: text for label, text in self.job.texts.items() if label not in names}
        own = (
            PlacedText(_name(cluster, key), key, text)
            for cluster in self.job.clusters
            for key, text in cluster.configs.items()
            if layered.source(key) <= cluster.source
        )
        return texts, list(own)

    def _placed(self, worker: JobResolver, layered: LayeredConfig) -> JobResolver:
        """Return the worker's resolver, or the one that leaves references to the driver."""
        concerns = concerns_driver(layered, self.job.texts, self.job.clusters)
        definitions = driver_definitions(worker.providers, self.job.options.place, self.driver, concerns=concerns)
        if definitions is None:
            return worker
        if self.driver.closed:
            raise ConfigException(*self.driver.closed)
        return DriverResolver(
            worker.providers, worker.unresolved, worker.allow_exposed, definitions, self.driver.not_python
        )

    def _collect(self, files: Sequence[ConfigFile], dynamic: Sequence[ConfigLayer]) -> list[ConfigLayer]:
        """Return all layers, without the keys that each of several clusters overrides."""
        clusters = self.job.clusters
        if problems := [text for layer in clusters for problem in layer_problems(layer) for text in problem.problems]:
            raise ConfigException(*problems)
        collected = JobLayers(
            files=files, render=self.render, warn=self.warn, dynamic=dynamic, takes_any_key=self.takes_any_key
        )
        return _without_beaten(collected.collect(self.job.layers, self.run_conf), clusters)

    def _require_allowed(self, layers: Sequence[ConfigLayer]) -> None:
        """
        Check the configuration, or that of each of several clusters, with the deployment's policies.

        :raises PolicyViolation: policies deny it
        """
        clusters = self.job.clusters
        problems = [problem for cluster in clusters for problem in self._objections(layers, cluster)]
        if problems:
            raise PolicyViolation(*problems)
        if not clusters:
            policies.require_allowed(self.resource, layers, self._references())

    def _objections(self, layers: Sequence[ConfigLayer], cluster: ConfigLayer) -> list[str]:
        try:
            policies.require_allowed(self.resource, [*layers, cluster], self._references())
        except PolicyViolation as violation:
            return [f"{printable(cluster.name)}: {problem}" for problem in violation.problems]
        return []

    def _references(self) -> dict[str, str]:
        """Return label -> text for all references outside the configuration, including paths."""
        return {**self.job.texts, **self._referring_paths()}

    def _referring_paths(self) -> dict[str, str]:
        return referring_paths(file.path for file in self.files)


def following_run(options: JobOptions, texts: Mapping[str, str], *, used: Iterable[str]) -> JobRun:
    """
    Return a run that follows a submitted job, with the values of ``texts`` alone.

    :param used: the texts of that job's configuration, whose providers could have leases
    """
    with ExitStack() as stack:
        resolver = _worker(stack.enter_context(JobProviders(options.conn_id)), options)
        resolver.providers.needed_by(used)
        return JobRun(resolver.resolve(LayeredConfig([]), texts), resolver, end=stack.pop_all().close)


def _worker(providers: JobProviders, options: JobOptions) -> JobResolver:
    return JobResolver(providers, options.when_unresolved, options.allows_exposed)


def _name(cluster: ConfigLayer, key: str) -> str:
    return f"{cluster.name}[{key!r}]"


def _without_beaten(layers: list[ConfigLayer], clusters: Sequence[ConfigLayer]) -> list[ConfigLayer]:
    """Return ``layers`` without the keys that no cluster gets from them, because each has its own value."""
    if not clusters:
        return layers
    layered = LayeredConfig(layers)
    beaten = [{key for key in cluster.configs if layered.source(key) <= cluster.source} for cluster in clusters]
    keys = set.intersection(*beaten)
    return [replace(layer, configs=_except(keys, layer.configs)) for layer in layers]


def _except(keys: set[str], configs: Mapping[str, str]) -> dict[str, str]:
    return {key: text for key, text in configs.items() if key not in keys}
