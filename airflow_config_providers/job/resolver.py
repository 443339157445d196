"""Resolves the configuration of one job with the deployment's providers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from airflow_config_providers import settings
from airflow_config_providers.core.layers import ConfigLayer, LayeredConfig
from airflow_config_providers.core.provider import ConfigProvider
from airflow_config_providers.core.resolver import ConfigResolver, ResolvedConfig, Unresolved
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import scan, variables
from airflow_config_providers.exceptions import ExposedValueError
from airflow_config_providers.job.providers import JobProviders
from airflow_config_providers.spark import child_environment, exposure
from airflow_config_providers.spark.arguments import IN_COMMAND
from airflow_config_providers.spark.catalogue import spark_definition
from airflow_config_providers.spark.expansion import SUBSTITUTED_BY_SPARK
from airflow_config_providers.spark.layer_files import ConfigFile

_SAFE: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./~-")
"""Characters without special meaning in a string that is split into words, or that is a program."""


@dataclass(frozen=True, slots=True)
class PlacedText:
    """
    A string and its place.

    :param name: the name of the place in messages
    :param key: the text's key in Spark's configuration; the name again if it has none
    """

    name: str
    key: str
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class JobResolver:
    """
    Settles a job's layers, and resolves them with the deployment's providers.

    :param providers: the providers, which the caller must close
    :param allow_exposed: whether values may go where other people can read them
    :param spark_version: the version of the Spark that runs the job; None if it is not known
    """

    providers: JobProviders
    unresolved: Unresolved
    allow_exposed: bool
    spark_version: str | None = field(default=None, kw_only=True)

    def settle(self, layers: Sequence[ConfigLayer]) -> LayeredConfig:
        """Return the settled layers, without reading secrets."""
        return self._resolver({}).settle(layers)

    def resolve(
        self, layered: LayeredConfig, texts: Mapping[str, str], own: Sequence[PlacedText] = ()
    ) -> ResolvedConfig:
        """
        Return settled layers, ``texts`` and ``own`` with their references resolved.

        :param layered: the result of ``settle``
        :param own: the own configuration of each of several clusters; the result has it among the additional strings
        :raises ExposedValueError: other people could read a value; no secret is read then
        """
        placed = [*placed_texts(layered.settled), *placed_texts(texts), *own]
        providers = self.providers.needed_by(item.text for item in placed)
        if not self.allow_exposed:
            refuse_exposed(placed, providers, layered.secrets)
        return self._resolver(providers).resolve(layered, {**texts, **{item.name: item.text for item in own}})

    def carried(self) -> Mapping[str, str]:
        """Return additional keys for the job: none, because it gets values."""
        return {}

    def withheld(self) -> frozenset[str]:
        """Return the names of the environment variables that child processes of the job must not inherit."""
        return child_environment.withheld(self.providers.environment_names())

    def locate(self, files: Sequence[ConfigFile]) -> list[ConfigFile]:
        """Return ``files`` with references in their paths resolved; their names still show the references."""
        directories = {name: name for file in files for bound in file.bounds for name in bound.directories}
        texts = {**directories, **{file.name: file.path for file in files}}
        if not any(map(scan, texts.values())):
            return list(files)
        resolved = self._resolver(self.providers.needed_by(texts.values())).resolve([], texts)
        return [replace(file, path=resolved.text(file.name), bounds=file.bounds_in(resolved.text)) for file in files]

    def _resolver(self, providers: Mapping[str, ConfigProvider]) -> ConfigResolver:
        return ConfigResolver(
            providers,
            spark_definition(self.spark_version),
            unresolved=self.unresolved,
            foreign=SUBSTITUTED_BY_SPARK,
            max_workers=settings.max_workers(),
            timeout=settings.resolve_timeout(),
            home=f"config.providers of connection '{printable(self.providers.conn_id)}'",
        )


def refuse_exposed(texts: Iterable[PlacedText], providers: Collection[str], secrets: Collection[str] = ()) -> None:
    """
    Make sure that other people cannot read a value.

    :param providers: the names of the providers that are defined
    :param secrets: keys with a sealed secret
    :raises ExposedValueError: other people could read a value
    """
    problems = [
        f"{printable(key)}: its secret would be readable by every user of the machine or of Spark's UI. Pass it under "
        f"another key, or set allow_exposed_arguments=True."
        for key in secrets
        if exposure.is_exposed(key)
    ]
    problems += [
        f"{printable(item.name)}: the value of {printable(str(variable))} would be readable by every user of the "
        f"machine or of Spark's UI. Pass it {_elsewhere(item)}, or set allow_exposed_arguments=True."
        for item in texts
        if item.key.startswith(IN_COMMAND) or exposure.is_exposed(item.key)
        for variable in variables(item.text)
        if variable.provider in providers
    ]
    if problems:
        raise ExposedValueError(*problems)


def refuse_broken_words(
    labels: Iterable[str], *, written: Mapping[str, str], values: Mapping[str, str], allow_exposed: bool
) -> None:
    """
    Make sure that values do not change how a string is split into words, or read as a program.

    :param labels: the labels of such strings
    :param written: label -> string with references
    :param values: label -> string with values
    :raises ExposedValueError: a value does, or would be readable by others
    """
    for label in labels:
        if label not in values or values[label] == written[label]:
            continue
        if not allow_exposed:
            raise ExposedValueError(
                f"{printable(label)}: the values of its references would be readable by others. Pass them through the "
                f"Spark configuration, or set allow_exposed_arguments=True."
            )
        if any(character not in _SAFE for character in _inserted(written[label], values[label])):
            raise ExposedValueError(
                f"{printable(label)}: a value has characters that would change the meaning of the surrounding text. "
                f"Pass it through the Spark configuration."
            )


def _inserted(written: str, value: str) -> str:
    """Return the part of ``value`` from the first reference of ``written`` to the last, with the text in between."""
    spans = scan(written)
    head, tail = written[: spans[0][0]], written[spans[-1][1] :]
    return value[len(head) : len(value) - len(tail)]


def _elsewhere(item: PlacedText) -> str:
    return "through conf" if item.key.startswith(IN_COMMAND) else "under another key"


def placed_texts(texts: Mapping[str, str]) -> list[PlacedText]:
    """Return the strings of a configuration, or other strings by name, each with its place."""
    return [PlacedText(name, name, text) for name, text in texts.items()]
