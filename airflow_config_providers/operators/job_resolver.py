"""Resolution of one job's configuration by the deployment's providers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from airflow_config_providers import settings
from airflow_config_providers.core.layers import ConfigLayer, LayeredConfig
from airflow_config_providers.core.provider import ConfigProvider
from airflow_config_providers.core.resolver import ConfigResolver, ResolvedConfig, Unresolved
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import variables
from airflow_config_providers.exceptions import ExposedValueError
from airflow_config_providers.hooks.config_providers import ConfigProvidersHook
from airflow_config_providers.spark import exposure
from airflow_config_providers.spark.catalogue import spark_definition
from airflow_config_providers.spark.layers import SUBSTITUTED_BY_SPARK, ConfigFile


@dataclass(frozen=True, slots=True)
class JobResolver:
    """
    Settles a job's layers, and resolves them with providers that are open no longer than that.

    :param conn_id: the connection that defines the providers; not asked for where nothing refers to one
    :param allow_exposed: whether a value may stand where other people can read it
    """

    conn_id: str
    unresolved: Unresolved
    allow_exposed: bool

    def settle(self, layers: Sequence[ConfigLayer]) -> LayeredConfig:
        """Choose the winners; fetches nothing."""
        return self._resolver({}).settle(layers)

    def resolve(self, layers: Sequence[ConfigLayer], texts: Mapping[str, str]) -> ResolvedConfig:
        """
        Choose the winners and fetch what they and ``texts`` refer to.

        :raises ExposedValueError: a value would stand where other people can read it; nothing is fetched then
        """
        named = {**self.settle(layers).settled, **texts}
        with self._providers(named.values()) as providers:
            if not self.allow_exposed:
                _refuse_exposed(named, providers)
            return self._resolver(providers).resolve(layers, texts)

    def locate(self, files: Sequence[ConfigFile]) -> list[ConfigFile]:
        """Replace references in the paths of ``files``; their names go on showing the references."""
        texts = {file.name: file.path for file in files}
        with self._providers(texts.values()) as providers:
            resolved = self._resolver(providers).resolve([], texts)
        return [replace(file, path=resolved.text(file.name)) for file in files]

    @contextmanager
    def _providers(self, texts: Iterable[str]) -> Iterator[Mapping[str, ConfigProvider]]:
        """Open the deployment's providers where ``texts`` hold a reference that may be theirs."""
        names = {variable.provider for text in texts for variable in variables(text)}
        hook = ConfigProvidersHook(self.conn_id)
        if names <= SUBSTITUTED_BY_SPARK and not (names and hook.is_defined()):
            yield {}
            return
        with hook.get_conn() as providers:
            yield providers

    def _resolver(self, providers: Mapping[str, ConfigProvider]) -> ConfigResolver:
        return ConfigResolver(
            providers,
            spark_definition(),
            unresolved=self.unresolved,
            foreign=SUBSTITUTED_BY_SPARK,
            max_workers=settings.max_workers(),
        )


def _refuse_exposed(texts: Mapping[str, str], providers: Mapping[str, ConfigProvider]) -> None:
    problems = [
        f"{printable(name)}: the value of {printable(str(variable))} would stand where every user of the machine "
        f"or of Spark's UI can read it. Pass it through conf, or say allow_exposed_arguments=True."
        for name, text in texts.items()
        if name.startswith(exposure.FIELDS) or exposure.is_exposed(name)
        for variable in variables(text)
        if variable.provider in providers
    ]
    if problems:
        raise ExposedValueError(*problems)
