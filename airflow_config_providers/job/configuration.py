"""The configuration of one run of a job: settled, checked with policies, and resolved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

from airflow_config_providers import settings
from airflow_config_providers.core.layers import ConfigLayer, LayeredConfig, layer_problems
from airflow_config_providers.core.reload import ReloadAction
from airflow_config_providers.core.resolver import refuse_odd_references
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import scan, unclosed
from airflow_config_providers.exceptions import (
    ConfigException,
    PolicyViolation,
    ProviderDefinitionError,
    problems_of,
    refuse,
)
from airflow_config_providers.job.authored_job import AuthoredJob, JobOptions, referring_paths
from airflow_config_providers.job.exposed_values import (
    Destination,
    PlacedText,
    refuse_referring_words,
    shows_environment,
)
from airflow_config_providers.job.fields import cluster_wins
from airflow_config_providers.job.job_layers import JobLayers, require_unreserved
from airflow_config_providers.job.nested_texts import label_below
from airflow_config_providers.job.policies import NO_VERDICT, TaskVerdict, verdict_on, with_environment
from airflow_config_providers.job.providers import JobProviders
from airflow_config_providers.job.resolver import Driver, DriverResolver, JobResolver, JobStrings
from airflow_config_providers.job.run import JobRun, ReloadSource
from airflow_config_providers.job.steered_layers import TaskDynamic, dynamic_config, previewed_layers, refresh_mark
from airflow_config_providers.settings import ResolveIn
from airflow_config_providers.spark import driver_providers
from airflow_config_providers.spark.layer_files import ConfigFile
from airflow_config_providers.spark.named_arguments import ANYWHERE


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class JobConfiguration:
    """
    The configuration of one run of a job.

    :param job: what the author wrote, with rendered templates
    :param files: all properties files, strongest last
    :param driver: the driver of the job
    :param run_conf: ``dag_run.conf``
    :param collector: collects the layers
    :param words: labels of strings, or of lists of strings, that are later split into words, or read as a program
    :param destination: returns where the job runs; it can ask for a connection, so it is called only if needed, and
        at most once each time that the layers are settled
    """

    resource: ConfigResource
    job: AuthoredJob
    files: Sequence[ConfigFile]
    driver: Driver
    run_conf: Mapping[str, Any] | None
    collector: JobLayers
    words: Sequence[str] = ()
    destination: Callable[[], Destination] = lambda: Destination(ANYWHERE)

    def preview(self) -> tuple[LayeredConfig, list[str]]:
        """Return what would be submitted, and notes about what would fail or differ in a run."""
        notes: list[str] = []
        destination = partial(_destination_if_known, self.destination, notes.append)
        return replace(self, destination=destination)._previewed(notes)

    def _previewed(self, notes: list[str]) -> tuple[LayeredConfig, list[str]]:
        files = [file for file in self.files if not scan(file.path)]
        notes += [f"{place} contains a reference, so the file is not shown." for place in self._referring_paths()]
        dynamic = previewed_layers(self.resource, warn=notes.append)
        with JobProviders(self.job.options.conn_id) as providers:
            settled = self._settle(self._worker(providers), files, dynamic)
            layered, strings, resolver = settled.layered, settled.strings(), settled.resolver
            checks: Sequence[Callable[[], object]] = (
                lambda: self.verdict(settled, warn=notes.append),
                lambda: refuse_odd_references(layered, strings.further()),
                lambda: resolver().checked_providers(strings),
                lambda: self._require_unreferring(settled.worker),
                lambda: resolver().require_answerable(strings),
                lambda: settled.worker.require_fitting(layered),
            )
            notes += [note for check in checks for note in problems_of(check)]
        return layered, list(dict.fromkeys(notes))  # two checks can find that the connection is missing

    def _require_unreferring(self, worker: JobResolver) -> None:
        if self.words and self.job.texts and not worker.allow_exposed:
            refuse_referring_words(self.words, self.job.texts, worker.providers.names())

    @contextmanager
    def settled(self) -> Iterator[SettledJob]:
        """
        Yield the job with settled layers; its providers are closed in the end, unless ``run_of`` has made a run of it.

        :raises ConfigProvidersError: the configuration is wrong, or the path of a file cannot be resolved
        """
        with ExitStack() as stack:
            providers = stack.enter_context(JobProviders(self.job.options.conn_id))
            worker, dynamic = self._worker(providers), dynamic_config(self.resource)
            settled = self._settle(worker, worker.locate(self.files), dynamic.layers)
            yield replace(settled, dynamic=dynamic, providers_open=stack)

    def verdict(self, settled: SettledJob, *, warn: Callable[[str], object] | None = None) -> TaskVerdict:
        """
        Return what the deployment's policies say about the configuration.

        :param warn: is called with each reason of a policy that only warns; None to warn in the task log
        :raises PolicyViolation: policies deny it
        """
        verdict = self._verdict_on_all(settled) if settings.policies_file() else NO_VERDICT
        for text in verdict.warnings:
            (warn or self.collector.warn)(text)
        refuse(PolicyViolation, verdict.denials)
        return verdict

    def run_of(self, settled: SettledJob, verdict: TaskVerdict, *, earlier: ReverseTransformer | None = None) -> JobRun:
        """
        Return the run, with values, which closes the providers.

        :param verdict: what the policies say about it
        :param earlier: replaces the values that the running job has, if this is for a reload
        :raises ConfigProvidersError: a reference cannot be resolved, or others could read its value
        """
        for warning in settled.unclosed_references():
            self.collector.warn(warning)
        self._require_unreferring(settled.worker)  # before a secret is read
        resolver = settled.resolver()
        resolved = resolver.resolve(settled.strings())
        source = self._reload_source(settled.dynamic) if settled.restarts else None
        run = JobRun(resolved, resolver, end=settled.providers_open.pop_all().close, source=source, earlier=earlier)
        run.verdict = verdict
        return run

    def resolve(self, earlier: ReverseTransformer | None = None) -> JobRun:
        """
        Settle the layers, ask the policies, and return the run, with values.

        :param earlier: as for ``run_of``
        :raises ConfigProvidersError: the configuration is wrong or not allowed, or a reference cannot be resolved
        """
        with self.settled() as settled:
            return self.run_of(settled, self.verdict(settled), earlier=earlier)

    def resolve_if_restarted(self) -> JobRun | None:
        """
        Return the run as ``resolve`` does; None if the running job would not be restarted when its secrets change.

        :raises ConfigProvidersError: as for ``resolve``
        """
        with self.settled() as settled:
            settled.worker.providers.needed_by(settled.layered.settled.values())
            return self.run_of(settled, self.verdict(settled)) if settled.restarts else None

    def _reload_source(self, dynamic: TaskDynamic) -> ReloadSource:
        return ReloadSource(self.resolve, partial(refresh_mark, self.resource), dynamic.mark)

    def _worker(self, providers: JobProviders) -> JobResolver:
        return JobResolver.of(providers, self.job.options, spark_version=self.collector.spark_version)

    def _settle(self, worker: JobResolver, files: Sequence[ConfigFile], dynamic: Sequence[ConfigLayer]) -> SettledJob:
        layers = self._collect(files, dynamic)
        return SettledJob(
            self.job,
            self.driver,
            worker=worker,
            layers=layers,
            layered=worker.settle(layers),
            destination=cache(self.destination),
        )

    def _collect(self, files: Sequence[ConfigFile], dynamic: Sequence[ConfigLayer]) -> list[ConfigLayer]:
        """Return all layers, without the keys that each of several clusters overrides."""
        clusters = self.job.clusters
        _refuse_odd_clusters(clusters)
        layers = self.collector.collect(files, [*self.job.layers, *dynamic], self.run_conf)
        return _without_beaten(layers, clusters) if clusters else layers

    def _verdict_on_all(self, settled: SettledJob) -> TaskVerdict:
        layers, destination = settled.layers, settled.destination
        if not (clusters := self.job.clusters):
            return self._verdict_on_one(layers, destination)
        found = [self._verdict_on_one([*layers, cluster], destination).about(cluster.name) for cluster in clusters]
        return TaskVerdict.on_all(found)

    def _verdict_on_one(self, layers: Sequence[ConfigLayer], destination: Callable[[], Destination]) -> TaskVerdict:
        texts = {**self.job.texts, **self._referring_paths()}
        if self.job.environment:  # asking for the connection takes time
            layers = with_environment(layers, self.job.environment, destination().prefixes)
        return verdict_on(self.resource, layers, texts, spark_version=self.collector.spark_version)

    def _referring_paths(self) -> dict[str, str]:
        return referring_paths(file.path for file in self.files)


def following_run(options: JobOptions, texts: Mapping[str, str], *, used: Iterable[str]) -> JobRun:
    """
    Return a run that follows a submitted job, with the values of ``texts`` alone.

    :param used: the strings of that job's configuration, whose providers could have leases
    """
    with ExitStack() as stack:
        resolver = JobResolver.of(stack.enter_context(JobProviders(options.conn_id)), options)
        resolver.providers.needed_by(used)
        return JobRun(resolver.resolve(JobStrings(LayeredConfig([]), texts)), resolver, end=stack.pop_all().close)


def _destination_if_known(destination: Callable[[], Destination], warn: Callable[[str], object]) -> Destination:
    """
    Return ``destination()``; with a warning, one of which nothing is known if that fails, or is only assumed.

    On this machine, the connection can be absent, and the stock hook of the job not be possible to make.
    """
    try:
        found = destination()
        absent = found.absent()
    except Exception as error:  # noqa: BLE001 - only a run needs the hook; the message can quote the connection
        reason = type(error).__name__
    else:
        if not absent:
            return found
        reason = f"there is no connection '{printable(absent)}'"
    warn(f"It is not known here where the job runs ({reason}), so it is not checked who could read env_vars.")
    return Destination()


def _refuse_odd_clusters(clusters: Sequence[ConfigLayer]) -> None:
    problems = (problem for layer in clusters for problem in layer_problems(layer))
    refuse(ConfigException, (text for problem in problems for text in problem.problems))
    require_unreserved(
        PlacedText(label_below(layer.name, key), key, text) for layer in clusters for key, text in layer.configs.items()
    )


def _without_beaten(layers: list[ConfigLayer], clusters: Sequence[ConfigLayer]) -> list[ConfigLayer]:
    """Return ``layers`` without the keys that no cluster gets from them, because each has its own value."""
    layered = LayeredConfig(layers)
    beaten = [{key for key in cluster.configs if cluster_wins(layered, key)} for cluster in clusters]
    keys = set.intersection(*beaten)
    return [
        replace(layer, configs={key: text for key, text in layer.configs.items() if key not in keys})
        for layer in layers
    ]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class SettledJob:
    """
    A job whose layers are settled, and what resolves its references.

    :param job: what the author wrote, with rendered templates
    :param driver: the driver of the job
    :param worker: the resolver of the worker
    :param layers: all layers
    :param layered: the same, settled
    :param destination: returns where the job runs, and asks for a connection once
    :param dynamic: which of them are dynamic
    :param providers_open: closes the worker's providers
    """

    job: AuthoredJob
    driver: Driver
    worker: JobResolver
    layers: Sequence[ConfigLayer]
    layered: LayeredConfig
    destination: Callable[[], Destination]
    dynamic: TaskDynamic = field(default_factory=TaskDynamic)
    providers_open: ExitStack = field(default_factory=ExitStack)

    @property
    def restarts(self) -> bool:
        """Whether the running job is restarted when its secrets change."""
        in_layers = ReloadAction.of(self.layered.settled)
        action = self.job.options.when_secrets_change(in_layers, in_connection=self.worker.providers.reload_action)
        return action is ReloadAction.RESTART

    def unclosed_references(self) -> Iterator[str]:
        """Yield a warning for each reference without its closing brace, which stays: the value could be meant so."""
        found = {key: provider for key, text in self.layered.settled.items() if (provider := unclosed(text))}
        names = self.worker.providers.names() if found else ()
        for key in sorted(key for key, provider in found.items() if provider in names):
            yield (
                f"{self.layered.place(key)}: '${{{printable(found[key])}:' begins a reference that is not closed, so "
                f"it is not resolved. If it is one, add '}}' after its key."
            )

    def strings(self) -> JobStrings:
        """Return all strings of the job."""
        names = {label_below(cluster.name, key) for cluster in self.job.clusters for key in cluster.configs}
        texts = {label: text for label, text in self.job.texts.items() if label not in names}
        own = [
            PlacedText(label_below(cluster.name, key), key, text, cluster.name)
            for cluster in self.job.clusters
            for key, text in cluster.configs.items()
            if cluster_wins(self.layered, key)
        ]
        return JobStrings(self.layered, texts, own, self._environment_keys())

    def _environment_keys(self) -> dict[str, str]:
        """Return label -> the key that sets it, for variables with references that others could but may not read."""
        if self.worker.allow_exposed:
            return {}
        labels = {label_below("env_vars", name): name for name, text in self.job.environment.items() if scan(text)}
        if not labels:  # asking for the connection takes time
            return {}
        destination = self.destination()
        is_remote = partial(destination.is_remote, self.layered.settled)
        shown = [prefix for prefix in destination.prefixes if shows_environment(prefix, is_remote)]
        return {label: f"{prefix}{name}" for prefix in shown for label, name in labels.items()}

    def resolver(self) -> JobResolver:
        """
        Return the worker's resolver, or the one that leaves references to the driver.

        :raises ConfigException: they cannot be left to it
        """
        worker, driver = self.worker, self.driver
        definitions = self._driver_definitions()
        if definitions is None:
            return worker
        refuse(ConfigException, driver.closed)
        return DriverResolver(
            worker.providers,
            worker.unresolved,
            worker.allow_exposed,
            definitions=definitions,
            not_python=driver.not_python,
            spark_version=worker.spark_version,
        )

    def _driver_definitions(self) -> Mapping[str, str] | None:
        """
        Return the definitions of the providers with which the driver resolves; None if the worker resolves.

        :raises ProviderDefinitionError: the driver should resolve, but no driver providers are defined
        """
        driver, resolves_in = self.driver, self.job.options.resolves_in
        suits = driver.may_be_remote and not driver.not_python and self._concerns_driver()
        if resolves_in is ResolveIn.WORKER or (resolves_in is ResolveIn.AUTO and not suits):
            return None
        definitions = self.worker.providers.driver_definitions()
        if resolves_in is ResolveIn.AUTO and not (definitions and self.destination().is_remote(self.layered.settled)):
            return None
        if not definitions and not driver.not_python:
            raise ProviderDefinitionError(
                f"The driver should resolve the references, but no driver providers are defined. Add "
                f"driver.config.providers and the keys below it to connection "
                f"'{printable(self.worker.providers.conn_id)}', or correct config_conn_id."
            )
        driver_providers.require_without_secrets(definitions)
        return definitions

    def _concerns_driver(self) -> bool:
        """Return whether the job has references, or secrets, which ``DriverResolver`` refuses."""
        texts = [*self.layered.settled.values(), *self.job.texts.values()]
        return bool(self.layered.secrets) or any(map(scan, texts))
