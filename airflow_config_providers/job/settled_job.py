"""A job whose layers are settled, before its references are resolved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from airflow_config_providers.core.layers import ConfigLayer, LayeredConfig
from airflow_config_providers.core.reload import ReloadAction
from airflow_config_providers.core.resolver import ResolvedConfig
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import scan, unclosed
from airflow_config_providers.exceptions import ConfigException, ProviderDefinitionError, refuse
from airflow_config_providers.job.authored_job import AuthoredJob
from airflow_config_providers.job.exposed_values import PlacedText
from airflow_config_providers.job.fields import cluster_wins
from airflow_config_providers.job.nested_texts import label_below
from airflow_config_providers.job.resolver import Driver, DriverResolver, JobResolver, JobStrings
from airflow_config_providers.job.steered_layers import TaskDynamic
from airflow_config_providers.settings import ResolveIn
from airflow_config_providers.spark import specification


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class SettledJob:
    """
    A job whose layers are settled, and what resolves its references.

    :param job: what the author wrote, with rendered templates
    :param driver: the driver of the job
    :param worker: the resolver of the worker
    :param layers: all layers
    :param layered: the same, settled
    :param dynamic: which of them are dynamic
    :param providers_open: closes the worker's providers
    """

    job: AuthoredJob
    driver: Driver
    worker: JobResolver
    layers: Sequence[ConfigLayer]
    layered: LayeredConfig
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
        return JobStrings(self.layered, texts, own)

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
        if resolves_in is ResolveIn.AUTO and not (definitions and driver.is_remote(self.layered.settled)):
            return None
        if not definitions and not driver.not_python:
            raise ProviderDefinitionError(
                f"The driver should resolve the references, but no driver providers are defined. Add "
                f"driver.config.providers and the keys below it to connection "
                f"'{printable(self.worker.providers.conn_id)}', or correct config_conn_id."
            )
        specification.require_open(definitions)
        return definitions

    def _concerns_driver(self) -> bool:
        """Return whether the job has references, or secrets, which ``DriverResolver`` refuses."""
        texts = [*self.layered.settled.values(), *self.job.texts.values()]
        return bool(self.layered.secrets) or any(map(scan, texts))

    def resolved(self) -> tuple[JobResolver, ResolvedConfig]:
        """
        Return the job with values, and what has resolved it.

        :raises ConfigProvidersError: a reference cannot be resolved, or others could read its value
        """
        resolver = self.resolver()
        return resolver, resolver.resolve(self.strings())
