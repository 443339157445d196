"""The configuration of one run of a job: settled, checked with policies, and resolved."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from operator import call
from typing import Any

from airflow_config_providers import settings
from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.core.layers import ConfigLayer, LayeredConfig, layer_problems
from airflow_config_providers.core.reload import ReloadAction
from airflow_config_providers.core.resolver import refuse_odd_references
from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import scan, unclosed
from airflow_config_providers.exceptions import ConfigException, PolicyViolation, problems_of, refuse
from airflow_config_providers.job.authored_job import AuthoredJob, referring_paths
from airflow_config_providers.job.exposed_values import PlacedText, refuse_referring_words
from airflow_config_providers.job.fields import wins_over
from airflow_config_providers.job.job_layers import JobLayers, require_unreserved
from airflow_config_providers.job.nested_texts import label_below
from airflow_config_providers.job.options import JobOptions
from airflow_config_providers.job.policies import NO_VERDICT, TaskVerdict, verdict_on
from airflow_config_providers.job.providers import JobProviders
from airflow_config_providers.job.resolver import Driver, DriverResolver, JobResolver, driver_definitions
from airflow_config_providers.job.run import JobRun, ReloadSource
from airflow_config_providers.job.steered_layers import TaskDynamic, dynamic_config, previewed_layers, refresh_mark
from airflow_config_providers.spark.arguments import ANYWHERE
from airflow_config_providers.spark.layer_files import ConfigFile


@dataclass(frozen=True, slots=True)
class JobConfiguration:
    """
    The configuration of one run of a job.

    :param job: what the author wrote, with rendered templates
    :param files: all properties files, strongest last
    :param driver: the driver of the job
    :param run_conf: ``dag_run.conf``
    :param sources: collects the layers
    :param words: labels of strings, or of lists of strings, that are later split into words, or read as a program
    :param environment_prefixes: returns the prefixes under which environment variables are keys; called for policies
    :param when_settled: is called with the settled layers, before policies and providers are asked
    :param ask: is called with what asks the policies, and returns its result, or nothing to ask later
    """

    resource: ConfigResource
    job: AuthoredJob
    files: Sequence[ConfigFile]
    driver: Driver
    run_conf: Mapping[str, Any] | None
    sources: JobLayers
    words: Sequence[str] = ()
    environment_prefixes: Callable[[], Collection[str]] = lambda: ANYWHERE
    when_settled: Callable[[LayeredConfig], object] = lambda layered: None
    ask: Callable[[Callable[[], TaskVerdict]], TaskVerdict] = call

    def preview(self) -> tuple[LayeredConfig, list[str]]:
        """Return what would be submitted, and notes about what would fail or differ in a run."""
        notes: list[str] = []
        files = [file for file in self.files if not scan(file.path)]
        notes += [f"{place} contains a reference, so the file is not shown." for place in self._referring_paths()]
        layers = self._collect(files, previewed_layers(self.resource, warn=notes.append))
        with JobProviders(self.job.options.conn_id) as providers:
            worker = _worker(providers, self.job.options, self.sources.spark_version)
            layered = worker.settle(layers)
            texts, own = self._texts(layered)
            checks: Sequence[Callable[[], object]] = (
                lambda: self._require_allowed(layers, notes.append),
                lambda: refuse_odd_references(layered, {**texts, **{item.name: item.text for item in own}}),
                lambda: self._placed(worker, layered).checked_providers(layered, texts, own),
                lambda: self._require_unreferring(worker),
                lambda: self._placed(worker, layered).require_answerable(layered, texts, own),
                lambda: worker.require_fitting(layered),
            )
            notes += [note for check in checks for note in problems_of(check)]
        return layered, list(dict.fromkeys(notes))  # two checks can find that the connection is missing

    def _require_unreferring(self, worker: JobResolver) -> None:
        if self.words and self.job.texts and not worker.allow_exposed:
            refuse_referring_words(self.words, self.job.texts, worker.providers.names())

    def resolve(self, earlier: ReverseTransformer | None = None) -> JobRun:
        """
        Return the run, with values.

        :param earlier: replaces the values that the running job has, if this is for a reload
        :raises ConfigProvidersError: the configuration is wrong or not allowed, or a reference cannot be resolved
        """
        with ExitStack() as stack:
            worker, layers, dynamic = self._layers(stack)
            return self._resolved(worker, layers, stack, dynamic=dynamic, earlier=earlier)

    def resolve_if_restarted(self) -> JobRun | None:
        """
        Return the run as ``resolve`` does; None if the running job would not be restarted when its secrets change.

        :raises ConfigProvidersError: as for ``resolve``
        """
        with ExitStack() as stack:
            worker, layers, dynamic = self._layers(stack)
            layered = worker.settle(layers)
            worker.providers.needed_by(layered.settled.values())
            if not self._reloads(layered, worker.providers):
                return None
            return self._resolved(worker, layers, stack, dynamic=dynamic)

    def _layers(self, stack: ExitStack) -> tuple[JobResolver, list[ConfigLayer], TaskDynamic]:
        """Return the worker's resolver, whose providers ``stack`` closes, all layers, and those that are dynamic."""
        providers = stack.enter_context(JobProviders(self.job.options.conn_id))
        worker = _worker(providers, self.job.options, self.sources.spark_version)
        dynamic = dynamic_config(self.resource)
        return worker, self._collect(worker.locate(self.files), dynamic.layers), dynamic

    def _resolved(
        self,
        worker: JobResolver,
        layers: Sequence[ConfigLayer],
        stack: ExitStack,
        *,
        dynamic: TaskDynamic,
        earlier: ReverseTransformer | None = None,
    ) -> JobRun:
        """Return the run, which closes what ``stack`` would."""
        layered = worker.settle(layers)
        self.when_settled(layered)
        verdict = self.ask(partial(self._require_allowed, layers, self.sources.warn))
        self._warn_of_unclosed(layered, worker.providers)
        resolver = self._placed(worker, layered)
        resolved = resolver.resolve(layered, *self._texts(layered))
        source = self._reload_source(dynamic) if self._reloads(layered, worker.providers) else None
        run = JobRun(resolved, resolver, end=stack.pop_all().close, source=source, earlier=earlier)
        run.verdict = verdict
        return run

    def _reload_source(self, dynamic: TaskDynamic) -> ReloadSource:
        return ReloadSource(self.resolve, partial(refresh_mark, self.resource), dynamic.mark)

    def _reloads(self, layered: LayeredConfig, providers: JobProviders) -> bool:
        in_layers = ReloadAction.of(layered.settled)
        action = self.job.options.when_changed(in_layers, in_connection=providers.reload_action)
        return action is ReloadAction.RESTART

    def _warn_of_unclosed(self, layered: LayeredConfig, providers: JobProviders) -> None:
        """Warn of a reference without its closing brace, which stays as it is: the value could be meant so."""
        found = {key: provider for key, text in layered.settled.items() if (provider := unclosed(text))}
        names = providers.names() if found else ()
        for key in sorted(key for key, provider in found.items() if provider in names):
            self.sources.warn(
                f"{layered.place(key)}: '${{{printable(found[key])}:' begins a reference that is not closed, so it is "
                f"not resolved. If it is one, add '}}' after its key."
            )

    def _texts(self, layered: LayeredConfig) -> tuple[Mapping[str, str], list[PlacedText]]:
        """Return the strings outside the layers, and the keys of each of several clusters that no layer overrides."""
        names = {label_below(cluster.name, key) for cluster in self.job.clusters for key in cluster.configs}
        texts = {label: text for label, text in self.job.texts.items() if label not in names}
        own = (
            PlacedText(label_below(cluster.name, key), key, text, cluster.name)
            for cluster in self.job.clusters
            for key, text in cluster.configs.items()
            if wins_over(layered, key)
        )
        return texts, list(own)

    def _placed(self, worker: JobResolver, layered: LayeredConfig) -> JobResolver:
        """Return the worker's resolver, or the one that leaves references to the driver."""
        place, texts = self.job.options.place, self.job.texts
        definitions = driver_definitions(worker.providers, place, self.driver, layered, texts)
        if definitions is None:
            return worker
        refuse(ConfigException, self.driver.closed)
        return DriverResolver(
            worker.providers,
            worker.unresolved,
            worker.allow_exposed,
            definitions,
            self.driver.not_python,
            spark_version=self.sources.spark_version,
        )

    def _collect(self, files: Sequence[ConfigFile], dynamic: Sequence[ConfigLayer]) -> list[ConfigLayer]:
        """Return all layers, without the keys that each of several clusters overrides."""
        clusters = self.job.clusters
        problems = (problem for layer in clusters for problem in layer_problems(layer))
        refuse(ConfigException, (text for problem in problems for text in problem.problems))
        require_unreserved(
            PlacedText(label_below(layer.name, key), key, text)
            for layer in clusters
            for key, text in layer.configs.items()
        )
        layers = self.sources.collect(files, [*self.job.layers, *dynamic], self.run_conf)
        return _without_beaten(layers, clusters) if clusters else layers

    def _require_allowed(self, layers: Sequence[ConfigLayer], warn: Callable[[str], object]) -> TaskVerdict:
        """
        Return what the deployment's policies say about the configuration.

        :param warn: is called with each reason of a policy that only warns
        :raises PolicyViolation: policies deny it
        """
        verdict = self._verdict(layers) if settings.policies_file() else NO_VERDICT
        for text in verdict.warnings:
            warn(text)
        refuse(PolicyViolation, verdict.denials)
        return verdict

    def _verdict(self, layers: Sequence[ConfigLayer]) -> TaskVerdict:
        if not (clusters := self.job.clusters):
            return self._verdict_on(layers)
        return TaskVerdict.on_all([self._verdict_on([*layers, cluster]).of(cluster.name) for cluster in clusters])

    def _verdict_on(self, layers: Sequence[ConfigLayer]) -> TaskVerdict:
        from airflow_config_providers.job.policy_request import with_environment  # noqa: PLC0415 - only with policies

        texts = {**self.job.texts, **self._referring_paths()}
        if self.job.environment:  # asking for the connection takes time
            layers = with_environment(layers, self.job.environment, self.environment_prefixes())
        return verdict_on(self.resource, layers, texts, spark_version=self.sources.spark_version)

    def _referring_paths(self) -> dict[str, str]:
        return referring_paths(file.path for file in self.files)


def following_run(options: JobOptions, texts: Mapping[str, str], *, used: Iterable[str]) -> JobRun:
    """
    Return a run that follows a submitted job, with the values of ``texts`` alone.

    :param used: the strings of that job's configuration, whose providers could have leases
    """
    with ExitStack() as stack:
        resolver = _worker(stack.enter_context(JobProviders(options.conn_id)), options)
        resolver.providers.needed_by(used)
        return JobRun(resolver.resolve(LayeredConfig([]), texts), resolver, end=stack.pop_all().close)


def _worker(providers: JobProviders, options: JobOptions, spark_version: str | None = None) -> JobResolver:
    return JobResolver(providers, options.when_unresolved, options.allows_exposed, spark_version=spark_version)


def _without_beaten(layers: list[ConfigLayer], clusters: Sequence[ConfigLayer]) -> list[ConfigLayer]:
    """Return ``layers`` without the keys that no cluster gets from them, because each has its own value."""
    layered = LayeredConfig(layers)
    beaten = [{key for key in cluster.configs if wins_over(layered, key)} for cluster in clusters]
    keys = set.intersection(*beaten)
    return [
        replace(layer, configs={key: text for key, text in layer.configs.items() if key not in keys})
        for layer in layers
    ]
