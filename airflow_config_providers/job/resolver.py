"""Resolves the configuration of one job with the deployment's providers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final, Self

from airflow_config_providers import settings
from airflow_config_providers.core.layers import ConfigLayer, LayeredConfig
from airflow_config_providers.core.provider import ConfigProvider, SecretIdProvider
from airflow_config_providers.core.provider_definition import ProviderDefinition, read_definitions
from airflow_config_providers.core.resolved_config import ResolvedConfig
from airflow_config_providers.core.resolver import ConfigResolver, Unresolved, settle
from airflow_config_providers.core.text import nearest, printable, whole_number
from airflow_config_providers.core.variable import scan, variables
from airflow_config_providers.exceptions import (
    ExposedValueError,
    ProviderDefinitionError,
    UnresolvedReferenceError,
    refuse,
)
from airflow_config_providers.job.authored_job import JobOptions
from airflow_config_providers.job.exposed_values import (
    PlacedText,
    placed_texts,
    refuse_exposed,
    refuse_shown,
    substituted_secrets,
)
from airflow_config_providers.job.providers import JobProviders
from airflow_config_providers.masker import mask_secrets
from airflow_config_providers.spark import driver_providers
from airflow_config_providers.spark.catalogue import spark_definition
from airflow_config_providers.spark.driver_providers import WRAPPING_LOGIN_TTL, WRAPPING_ROLE, WRAPPING_TTL
from airflow_config_providers.spark.exposed_keys import is_early
from airflow_config_providers.spark.layer_files import ConfigFile
from airflow_config_providers.spark.processes import child_process
from airflow_config_providers.spark.substitutions import SUBSTITUTED_BY_SPARK


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class JobStrings:
    """
    All strings of a job that can have references.

    :param layered: its settled layers
    :param texts: name -> string for those outside the layers
    :param own: the own configuration of each of several clusters, as far as no layer overrides it
    :param keys: name -> Spark's key, for those ``texts`` that are delivered as a key
    """

    layered: LayeredConfig
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)
    own: Sequence[PlacedText] = ()
    keys: Mapping[str, str] = field(default_factory=dict)

    def configs(self) -> list[PlacedText]:
        """Return the strings of the Spark configuration, each with its place."""
        return [*placed_texts(self.layered.settled), *self.own]

    def other_texts(self) -> list[PlacedText]:
        """Return the strings outside the Spark configuration, each with its place."""
        return [PlacedText(name, self.keys.get(name, name), text) for name, text in self.texts.items()]

    def own_texts(self) -> dict[str, str]:
        """Return name -> string of ``own``."""
        return {item.name: item.text for item in self.own}

    def further(self) -> dict[str, str]:
        """Return name -> string of all that are not in the layers."""
        return {**self.texts, **self.own_texts()}


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class JobResolver:
    """
    Settles a job's layers, and resolves its strings with the deployment's providers.

    :param providers: the providers, which the caller must close
    :param allow_exposed: whether values may go where other people can read them
    :param spark_version: the version of the Spark that runs the job; None if it is not known
    """

    leaves_to_driver: ClassVar[bool] = False
    """Whether the references of the configuration stay in it, for the driver."""

    providers: JobProviders
    unresolved: Unresolved
    allow_exposed: bool
    spark_version: str | None = field(default=None, kw_only=True)

    @classmethod
    def of(cls, providers: JobProviders, options: JobOptions, *, spark_version: str | None = None) -> Self:
        """Return the resolver of the worker for a job with these options."""
        return cls(providers, options.when_unresolved, options.allows_exposed, spark_version=spark_version)

    def settle(self, layers: Sequence[ConfigLayer]) -> LayeredConfig:
        """Return the settled layers, without reading secrets."""
        return settle(layers, spark_definition(self.spark_version))

    def resolve(self, strings: JobStrings) -> ResolvedConfig:
        """
        Return the settled layers and all other strings with their references resolved.

        :raises ExposedValueError: other people could read a value; no secret is read then
        """
        return self._resolver(self.checked_providers(strings)).resolve(strings.layered, strings.further())

    def checked_providers(self, strings: JobStrings) -> Mapping[str, ConfigProvider]:
        """
        Return the providers that resolve here what ``resolve`` gets, after a check that none would be exposed.

        No secret is read.

        :raises ExposedValueError: other people could read a value
        :raises ProviderDefinitionError: the connection is missing, or its definitions cannot be read
        """
        placed = [*strings.configs(), *strings.other_texts()]
        providers = self.providers.needed_by(item.text for item in placed)
        if not self.allow_exposed:
            refuse_exposed(placed, providers, strings.layered.secrets)
            refuse_shown(strings.layered)
        return providers

    def require_fitting(self, layered: LayeredConfig) -> None:
        """
        Make sure that the values without references fit their types, without reading a secret.

        :raises ConfigException: one does not; names all of them
        """
        self._resolver({}).require_fitting(layered)

    def require_answerable(self, strings: JobStrings) -> None:
        """
        Make sure that the definitions of the providers allow the references that ``resolve`` resolves here.

        No provider is opened.

        :raises UnresolvedReferenceError: a reference will never have a value; names all of them
        """
        placed = self._resolved_here(strings)
        refusals = self.providers.refusals([text for _, text in placed], self.unresolved)
        found = ((place, one) for place, text in placed for one in dict.fromkeys(variables(text)) if one in refusals)
        refuse(UnresolvedReferenceError, (f"{place}: {refusals[variable]}" for place, variable in found))

    def _resolved_here(self, strings: JobStrings) -> list[tuple[str, str]]:
        """Return the strings that the worker resolves, each after its place in messages."""
        layered = strings.layered
        found = [(layered.place(key), text) for key, text in layered.settled.items()]
        return found + [(printable(name), text) for name, text in strings.further().items()]

    def comes_too_late(self, text: str) -> bool:
        """Return whether a string that was added after the others were resolved has a reference to a provider."""
        if self.unresolved is Unresolved.KEEP or not (found := variables(text)):
            return False
        return not self.providers.names().isdisjoint(variable.provider for variable in found)

    def carried(self) -> Mapping[str, str]:
        """Return additional keys for the job: none, because it gets values."""
        return {}

    def withheld(self) -> frozenset[str]:
        """Return the names of the environment variables that child processes of the job must not inherit."""
        return child_process.withheld(self.providers.environment_names())

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
            home=self.providers.home,
            options=settings.fetch_options(),
        )


_LONGEST: Final = {WRAPPING_TTL: 24 * 60 * 60, WRAPPING_LOGIN_TTL: 10 * 365 * 24 * 60 * 60}
"""The most seconds that each of these parameters can ask for."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Driver:
    """
    The driver of a job.

    :param may_be_remote: whether it could run on another machine, as far as is known without any requests
    :param not_python: the field that shows that the job is not a Python program, so that its driver cannot resolve
    :param closed: errors for fields in which the references of the configuration cannot be left to the driver
    """

    may_be_remote: bool
    not_python: str = ""
    closed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class DriverResolver(JobResolver):
    """
    Leaves references to the driver, and sends it the definitions of its providers.

    :param definitions: ``config.providers`` of the driver, and the keys below it
    :param not_python: the field that shows that the job is not a Python program, which must not have references
    """

    leaves_to_driver: ClassVar[bool] = True
    definitions: Mapping[str, str] = field(default_factory=dict, repr=False)
    not_python: str = ""

    def resolve(self, strings: JobStrings) -> ResolvedConfig:
        """
        Return the Spark configuration with its references, and ``texts``, which the worker resolves.

        :raises ExposedValueError: the driver cannot resolve a reference, or others could read its value
        """
        providers = self.checked_providers(strings)
        keeping = ConfigResolver({}, spark_definition(self.spark_version), unresolved=Unresolved.KEEP)
        left = keeping.resolve(strings.layered, strings.own_texts())
        return left.with_texts(self._resolver(providers).resolve([], strings.texts)) if strings.texts else left

    def checked_providers(self, strings: JobStrings) -> Mapping[str, ConfigProvider]:
        """Return what resolves ``texts``, after the same check, and one that the driver can resolve what it is left."""
        refuse(ExposedValueError, self._problems(strings))
        providers = self.providers.needed_by(strings.texts.values())
        if not self.allow_exposed:
            refuse_shown(strings.layered)
            refuse_exposed(strings.other_texts(), providers)
        return providers

    def _resolved_here(self, strings: JobStrings) -> list[tuple[str, str]]:
        return [(printable(name), text) for name, text in strings.texts.items()]

    def carried(self) -> dict[str, str]:
        """
        Return the keys that define the driver's providers, with a new wrapped secret ID on each call.

        :raises ProviderLookupError: Vault did not create a secret ID
        """
        definitions = {} if self.not_python else self.definitions
        found = driver_providers.without_wrapping(definitions)
        for definition in read_definitions(definitions)[0]:
            if WRAPPING_ROLE in definition.params:
                key = f"config.providers.{definition.name}.param.{driver_providers.WRAPPED}"
                found[key] = self._wrapped(definition)
        return driver_providers.to_spark_keys(found)

    def withheld(self) -> frozenset[str]:
        """Return no names, because the driver's own providers can read its environment."""
        return frozenset()

    def _wrapped(self, definition: ProviderDefinition) -> str:
        provider = self.providers.named(definition.name)
        if not isinstance(provider, SecretIdProvider):
            raise ProviderDefinitionError(
                f"driver.{definition.key('param.' + WRAPPING_ROLE)}: the worker has no provider of class vault named "
                f"'{printable(definition.name)}' to create a secret ID. Add one."
            )
        made = provider.wrapped_secret_id(
            str(definition.params[WRAPPING_ROLE]),
            mount_point=str(definition.params.get("auth_mount_point", "")).strip("/"),
            **_seconds(definition),
        )
        mask_secrets([made])
        return made

    def _problems(self, strings: JobStrings) -> Iterator[str]:
        """Yield why the driver cannot resolve what it is left, and what others would see there."""
        names, placed = driver_providers.names(self.definitions), strings.configs()
        yield from self._problems_of_keys(strings.layered)
        yield from self._problems_of_references(placed, names)
        if not self.allow_exposed:
            for item, key in substituted_secrets(placed, names, ()):
                name = printable(item.name)
                yield f"{name}: Spark replaces {printable(key)} in it by its secret, and shows the result. Remove it."
        yield from _problems_of_variables(strings)

    def _problems_of_keys(self, layered: LayeredConfig) -> Iterator[str]:
        for key in layered.secrets:
            yield (
                f"{printable(key)}: its secret is encrypted for the worker, and the driver cannot decrypt it. Use a "
                f"reference to a provider of the driver, or set resolve_in='worker'."
            )
        for key in filter(driver_providers.is_driver_definition, layered.settled):
            yield (
                f"{layered.place(key)} would change the definitions that the driver gets from connection "
                f"'{printable(self.providers.conn_id)}'. Remove it there, or set resolve_in='worker'."
            )

    def _problems_of_references(self, placed: Iterable[PlacedText], names: set[str]) -> Iterator[str]:
        for item in placed:
            for variable in dict.fromkeys(variables(item.text)):
                if problem := _why_not(item, variable.provider, names, self.not_python):
                    yield f"{printable(item.name)}: {printable(str(variable))}: {problem}"


def _problems_of_variables(strings: JobStrings) -> Iterator[str]:
    for name, text in strings.texts.items():
        if name.startswith("env_vars[") and variables(text):
            or_worker = "" if name in strings.keys else ", or set resolve_in='worker'"  # which would refuse these
            yield (
                f"{printable(name)}: the environment of the driver is not resolved there, and its values would "
                f"leave the machine. Pass it as a key of conf that the job reads{or_worker}."
            )


def _why_not(item: PlacedText, provider: str, names: set[str], not_python: str) -> str:
    if provider not in names and provider in SUBSTITUTED_BY_SPARK:
        return ""
    if not_python:
        return (
            f"only a Python driver can resolve references, and {printable(not_python)} shows that this job has none. "
            f"Set resolve_in='worker'."
        )
    if provider not in names:
        hint = nearest(provider, names) or "."
        return (
            f"the driver has no provider '{printable(provider)}'{hint} It has: {printable(', '.join(sorted(names)))}."
        )
    if not item.key.startswith("spark."):
        return "spark-submit ignores keys that do not begin with 'spark.'. Choose a name that does."
    if is_early(item.key, item.text):
        return "Spark reads it before the driver can resolve it, or shows it. Write a value, or resolve on the worker."
    return ""


def _seconds(definition: ProviderDefinition) -> dict[str, int]:
    """Return the arguments of ``wrapped_secret_id`` that are durations; those without a parameter are left out."""
    asked = {"seconds": WRAPPING_TTL, "login_seconds": WRAPPING_LOGIN_TTL}
    given = {argument: name for argument, name in asked.items() if name in definition.params}
    return {"seconds": 300, **{argument: _duration(definition, name) for argument, name in given.items()}}


def _duration(definition: ProviderDefinition, name: str) -> int:
    if seconds := whole_number(definition.params[name], most=_LONGEST[name]):
        return seconds
    raise ProviderDefinitionError(
        f"driver.{definition.key('param.' + name)} is not a whole number of seconds from 1 to {_LONGEST[name]}. "
        f"Correct it."
    )
