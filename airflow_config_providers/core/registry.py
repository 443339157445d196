"""Create providers from ``config.providers.*`` (KIP-297, KIP-421)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from typing import Any, Final

from airflow_config_providers.core.closing import Closing, close_all
from airflow_config_providers.core.entry_points import NamedClasses, distribution_of
from airflow_config_providers.core.errors import guarded
from airflow_config_providers.core.invalid_value import InvalidValueError
from airflow_config_providers.core.keys import CONFIG_PROVIDERS
from airflow_config_providers.core.on_demand import ProvidersOnDemand
from airflow_config_providers.core.polled_provider import PolledConfigProvider
from airflow_config_providers.core.provider import ConfigProvider
from airflow_config_providers.core.provider_definition import (
    KeyProblem,
    ProviderDefinition,
    read_definitions,
    unknown_provider,
    unlisted_names,
)
from airflow_config_providers.core.text import counted, nearest, printable
from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.exceptions import (
    ConfigException,
    ConfigProvidersError,
    ProviderDefinitionError,
    ProviderUnavailableError,
    refuse,
)

ENTRY_POINT_GROUP: Final = "airflow_config_providers.providers"


class ProviderRegistry:
    """
    Knows the classes of providers and opens the providers that a configuration defines.

    :param classes: short name -> class; None for the installed ones, entry points of ``ENTRY_POINT_GROUP``
    :param allowed_classes: dotted paths allowed as a class; any other is refused and not imported
    :param deployment: the definitions come through Airflow, so they must limit what a provider can read: without its
        ``required_params`` it is not opened
    :param importing: returns a context manager that is entered while a class is imported
    """

    def __init__(
        self,
        classes: Mapping[str, Callable[[], ConfigProvider]] | None = None,
        *,
        allowed_classes: Collection[str] = (),
        deployment: bool = False,
        importing: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self._deployment = deployment
        self._classes: NamedClasses[ConfigProvider] = NamedClasses(
            base=ConfigProvider,
            kind=ProviderDefinitionError,
            group=ENTRY_POINT_GROUP if classes is None else "",
            own=classes or {},
            allowed=frozenset(allowed_classes),
            setting="option allowed_provider_classes of [config_providers]" if deployment else "allowed_classes",
            importing=importing,
        )

    def open(self, props: Mapping[str, Any]) -> ConfiguredProviders:
        """
        Create and configure the providers that ``config.providers`` in ``props`` lists, in that order.

        :param props: any configuration; keys outside ``config.providers`` are ignored
        :raises ProviderDefinitionError: definitions are wrong; names all problems
        :raises ProviderLookupError: a provider was refused, or could not connect, while it was configured
        """
        defined = _listed(props)
        providers = self._opened(defined.values())
        origins = {name: self._origin(definition) for name, definition in defined.items()}
        return ConfiguredProviders(providers, origins, unlisted_names(props, defined))

    def open_each(self, props: Mapping[str, Any]) -> tuple[ConfiguredProviders, tuple[str, ...]]:
        """
        Create and configure the providers whose definitions are right; the caller closes them.

        :return: the providers, and the problems of the others
        """
        definitions, problems = read_definitions(props)
        if problems and not definitions:
            return ConfiguredProviders({}), tuple(problems)
        unlisted = unlisted_names(props, [definition.name for definition in definitions])
        problems, opened = [], dict[str, ConfigProvider]()
        for definition in definitions:
            try:
                opened |= self._opened([definition])
            except ConfigProvidersError as error:
                problems += error.problems
            except BaseException:  # such as an interrupt
                close_all(_labelled(opened))
                raise
        origins = {definition.name: self._origin(definition) for definition in definitions if definition.name in opened}
        return ConfiguredProviders(opened, origins, unlisted), tuple(problems)

    def on_demand(self, props: Mapping[str, Any]) -> ProvidersOnDemand:
        """
        Return the providers that ``config.providers`` in ``props`` lists, each of which is opened on first use.

        :param props: any configuration; keys outside ``config.providers`` are ignored
        :raises ProviderDefinitionError: the list cannot be read
        """
        defined = _listed(props)
        return ProvidersOnDemand(
            defined,
            lambda name: self._opened([defined[name]])[name],
            environment_names=partial(self._environment_names, defined.values()),
            unlisted=unlisted_names(props, defined),
        )

    def refusals(
        self, props: Mapping[str, Any], variables: Iterable[ConfigVariable], *, home: str = CONFIG_PROVIDERS
    ) -> dict[ConfigVariable, str]:
        """
        Return why no provider defined in ``props`` will ever answer a reference; others are left out.

        No provider is opened, so only refusals that follow from a valid definition are found.

        :param home: where the providers are defined, for messages
        :raises ProviderDefinitionError: the list of providers cannot be read
        """
        defined = _listed(props)
        found = {
            variable: self._refusal(defined[variable.provider], variable)
            if variable.provider in defined
            else unknown_provider(variable, defined, unlisted=unlisted_names(props, defined), home=home)
            for variable in variables
        }
        return {variable: problem for variable, problem in found.items() if problem}

    def form_problem(self, definition: ProviderDefinition, variable: ConfigVariable) -> str:
        """Return why the class of a provider never answers a reference of this form; empty if that is not known."""
        with suppress(Exception, SystemExit):  # a class that cannot be made is another problem
            return self._make(definition).form_problem(variable.path, variable.key)
        return ""

    def unread_keys(self, definition: ProviderDefinition) -> list[KeyProblem]:
        """
        Return what is wrong with the names in a definition: of keys that nothing reads, and of the provider.

        No provider is opened. Parameters of a class that cannot be made here are not known.
        """
        problems = list(definition.problems)
        with suppress(Exception, SystemExit):  # a class that cannot be made is another problem
            unknown = _unknown_params(self._make(definition), definition)
            problems += [KeyProblem(definition.key(f"param.{param}"), text) for param, text in unknown.items()]
        return problems

    def _refusal(self, definition: ProviderDefinition, variable: ConfigVariable) -> str:
        try:
            self._make(definition).require_allowed(definition.params, variable.path, {variable.key})
        except ProviderDefinitionError:
            return ""
        except ConfigProvidersError as error:
            return f"{printable(str(variable))}: {' '.join(error.problems)}"
        except (Exception, SystemExit):  # noqa: BLE001 - a provider can raise anything, which is no refusal
            return ""
        return ""

    def _environment_names(
        self, definitions: Iterable[ProviderDefinition], opened: Mapping[str, ConfigProvider], timeout: float | None
    ) -> frozenset[str]:
        """Return the names of the environment variables that providers can read; a wrong definition adds none."""
        found: set[str] = set()
        asked: dict[str, Callable[[], frozenset[str]]] = {}
        for definition in definitions:
            if (provider := opened.get(definition.name)) is None:
                asked[definition.name] = partial(self._variables_of_unopened, definition)
            else:
                found |= _variables_of(provider, definition.params)
        return _variables_in_time(asked, timeout) | found

    def _variables_of_unopened(self, definition: ProviderDefinition) -> frozenset[str]:
        with suppress(Exception, SystemExit):  # a provider can raise anything
            make = self._maker(definition)
            if getattr(make, "environment_names", None) is not ConfigProvider.environment_names:  # not just inherited
                provider = make()
                if not self._missing_params(provider, definition):
                    return _variables_of(provider, definition.params)
        return frozenset()

    def _opened(self, definitions: Collection[ProviderDefinition]) -> dict[str, ConfigProvider]:
        """Create all providers, then configure them; if anything is wrong, close them and raise all problems."""
        problems = [problem.text for definition in definitions for problem in definition.problems]
        providers: dict[str, ConfigProvider] = {}
        known: dict[str, dict[str, Any]] = {}
        incomplete: set[str] = set()
        try:
            for definition in definitions:
                try:
                    provider = providers[definition.name] = self._make(definition)
                except ProviderDefinitionError as error:
                    problems += error.problems
                else:
                    missing, unknown = self._missing_params(provider, definition), _unknown_params(provider, definition)
                    incomplete.update([definition.name] if missing else [])
                    known[definition.name] = {k: v for k, v in definition.params.items() if k not in unknown}
                    problems += [*unknown.values(), *missing]
            if len(providers) == len(definitions):
                for name, provider in providers.items():
                    configure = partial(_configure, provider, known[name])
                    call = partial(_forgiving, configure) if name in incomplete else configure
                    problems += _problems_of_configuring(name, call, collects_all=bool(problems))
            refuse(ProviderDefinitionError, problems)
        except BaseException:
            close_all(_labelled(providers))
            raise
        return providers

    def _make(self, definition: ProviderDefinition) -> ConfigProvider:
        return self._classes.make(
            definition.class_name, definition.shown_class, unknown=partial(self._unknown, definition)
        )

    def _maker(self, definition: ProviderDefinition) -> Callable[[], ConfigProvider]:
        return self._classes.maker(
            definition.class_name, definition.shown_class, unknown=partial(self._unknown, definition)
        )

    def _missing_params(self, provider: ConfigProvider, definition: ProviderDefinition) -> list[str]:
        return [
            f"{definition.key('param.' + param)} is missing: it says what the provider may read. "
            + definition.way_out(f"param.{param}", f"it, as in {definition.key('param.' + param)}={example}")
            for param, example in provider.required_params.items()
            if self._deployment and not str(definition.params.get(param, "")).strip()
        ]

    def _unknown(self, definition: ProviderDefinition) -> str:
        key, name, known = definition.key("class"), definition.class_name, self._classes.known
        if not name:
            return f"{key} is missing. {definition.way_out('class', f'it with one of: {known}.')}"
        hint = nearest(name, self._classes.names()) or "."
        return f"{key}: there is no provider '{printable(name)}'{hint} Known are: {known}."

    def _origin(self, definition: ProviderDefinition) -> str:
        entries = self._classes.entries()
        return next((distribution_of(entry) for entry in entries if entry.name == definition.class_name), "")


class ConfiguredProviders(Closing, Mapping[str, ConfigProvider]):
    """
    Providers by name, in the order in which they are listed.

    :param origins: name -> the distribution that registers the provider's short name; empty for any other class
    :param unlisted: the names of providers that are defined, but not listed
    """

    def __init__(
        self,
        providers: Mapping[str, ConfigProvider],
        origins: Mapping[str, str] | None = None,
        unlisted: Collection[str] = (),
    ) -> None:
        super().__init__(_labelled(providers))
        self.origins = dict(origins or {})
        self.unlisted = unlisted
        self._providers = dict(providers)

    def __getitem__(self, name: str) -> ConfigProvider:
        return self._providers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._providers)

    def __len__(self) -> int:
        return len(self._providers)


def _listed(props: Mapping[str, Any]) -> dict[str, ProviderDefinition]:
    """Return name -> definition, including wrong ones; raise if the list itself cannot be read."""
    definitions, problems = read_definitions(props)
    if problems and not definitions:
        raise ProviderDefinitionError(*problems)
    return {definition.name: definition for definition in definitions}


def _problems_of_configuring(name: str, configure: Callable[[], object], *, collects_all: bool) -> list[str]:
    """
    Configure a provider, and return what is wrong with its definition.

    :param collects_all: whether there are other problems, so that no error may take their place
    :raises ProviderLookupError: it was refused, or could not connect; if there are no other problems
    """
    collected = (ConfigProvidersError,) if collects_all else (ProviderDefinitionError, ConfigException)
    try:
        guarded(configure, lambda: "it cannot be configured", ProviderDefinitionError)
    except InvalidValueError as error:  # it says what is wrong with a value, but not where that is written
        problems = [f"{problem.removesuffix('.')}. Correct it in the definition." for problem in error.problems]
    except collected as error:
        problems = [*error.problems]
    else:
        return []
    return [f"Provider {printable(name)}: {problem}" for problem in problems]


def _configure(provider: ConfigProvider, params: Mapping[str, Any]) -> None:
    """Configure a provider; it takes ``poll.interval`` even if its own ``configure`` calls no other."""
    provider.configure(params)
    if isinstance(provider, PolledConfigProvider):
        PolledConfigProvider.configure(provider, params)


def _unknown_params(provider: ConfigProvider, definition: ProviderDefinition) -> dict[str, str]:
    """Return the parameters that the class does not have, each with what is wrong with it."""
    known = definition.params if provider.params is None else provider.params
    prefixes = tuple(name for name in known if name.endswith("."))
    return {
        param: f"{definition.key('param.' + param)} would be ignored: {printable(definition.class_name)} has no such "
        f"parameter{nearest(param, known) or _listed_names(known)}"
        for param in definition.params
        if param not in known and not param.startswith(prefixes)
    }


def _listed_names(known: Iterable[str]) -> str:
    return f". Known are: {', '.join(sorted(known))}."


def _labelled(providers: Mapping[str, ConfigProvider]) -> list[tuple[str, ConfigProvider]]:
    return [(f"Provider {name}", provider) for name, provider in providers.items()]


def _forgiving(configure: Callable[[], object]) -> None:
    """Configure a provider without a parameter that it requires, which can be why it fails with a foreign error."""
    try:
        configure()
    except ConfigProvidersError:
        raise
    except (Exception, SystemExit):  # noqa: BLE001 - as in guarded; that the parameter is missing is reported
        return


def _variables_of(provider: ConfigProvider, params: Mapping[str, Any]) -> frozenset[str]:
    """Return the names that a provider with these parameters has: those that it gave before an error, if it raises."""
    found: set[str] = set()
    with suppress(Exception, SystemExit):  # a provider can raise anything
        found.update(provider.environment_names(params))
    return frozenset(found)


def _variables_in_time(asked: Mapping[str, Callable[[], frozenset[str]]], timeout: float | None) -> frozenset[str]:
    """
    Return the names of several providers, each of which is asked in a thread of its own.

    :param asked: the name of a provider -> returns the names that it has
    :param timeout: the seconds for all of them together; None for no limit
    :raises ProviderUnavailableError: a provider did not answer in time
    """
    if not asked:
        return frozenset()
    from airflow_config_providers.core.concurrency.timed_calls import call_each  # noqa: PLC0415 - slow to import, and rarely needed

    ended = call_each(asked, patience=timeout)
    late = [name for name, outcome in ended.items() if outcome.value is None]
    refuse(ProviderUnavailableError, (_late(name, timeout, " ".join(ended[name].problems)) for name in late))
    return frozenset[str]().union(*(outcome.value or () for outcome in ended.values()))


def _late(name: str, timeout: float | None, problem: str) -> str:
    doing = f"Provider '{printable(name)}' did not name the environment variables that it can read"
    why = f": {problem}" if problem else f" within {counted(timeout or 0, 'second')}."
    return (
        f"{doing}{why} Processes of the job must not inherit them, so it does not start. If importing or creating its "
        f"class takes long, correct the class, or remove the provider from config.providers."
    )
