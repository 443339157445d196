"""Create providers from ``config.providers.*`` (KIP-297, KIP-421)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from airflow_config_providers.core.closing import Closing, close_all
from airflow_config_providers.core.entry_points import imported, registered
from airflow_config_providers.core.on_demand import ProvidersOnDemand
from airflow_config_providers.core.provider import ConfigProvider
from airflow_config_providers.core.provider_definition import (
    ProviderDefinition,
    read_definitions,
    unknown_provider,
    unlisted_names,
)
from airflow_config_providers.core.text import nearest, printable
from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.exceptions import ConfigProvidersError, ProviderDefinitionError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINT_GROUP: Final = "airflow_config_providers.providers"

_T = TypeVar("_T")


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
        self._classes = classes
        self._allowed_classes = frozenset(allowed_classes)
        self._deployment = deployment
        self._importing = importing

    def open(self, props: Mapping[str, Any]) -> ConfiguredProviders:
        """
        Create and configure the providers that ``config.providers`` in ``props`` lists, in that order.

        :param props: any configuration; keys outside ``config.providers`` are ignored
        :raises ProviderDefinitionError: definitions are wrong; names all problems
        :raises ProviderLookupError: a provider was refused, or could not connect, while it was configured
        """
        definitions, problems = read_definitions(props)
        providers = self._opened(definitions, problems)
        origins = {definition.name: self._origin(definition) for definition in definitions}
        return ConfiguredProviders(providers, origins, unlisted_names(props, origins))

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
                opened |= self._opened([definition], list(definition.problems))
            except ConfigProvidersError as error:
                problems += error.problems
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
            lambda name: self._opened([defined[name]], list(defined[name].problems))[name],
            environment_names=lambda: self._environment_names(defined.values()),
            unlisted=unlisted_names(props, defined),
        )

    def refusals(self, props: Mapping[str, Any], variables: Iterable[ConfigVariable]) -> dict[ConfigVariable, str]:
        """
        Return why no provider defined in ``props`` will ever answer a reference; others are left out.

        No provider is opened, so only refusals that follow from a valid definition are found.

        :raises ProviderDefinitionError: the list of providers cannot be read
        """
        defined = _listed(props)
        found = {
            variable: self._refusal(defined[variable.provider], variable)
            if variable.provider in defined
            else unknown_provider(variable, defined, unlisted=unlisted_names(props, defined))
            for variable in variables
        }
        return {variable: problem for variable, problem in found.items() if problem}

    def _refusal(self, definition: ProviderDefinition, variable: ConfigVariable) -> str:
        try:
            provider = self._make(definition)
            what = f"{printable(str(variable))} cannot be judged"
            _guarded(lambda: provider.require_allowed(definition.params, variable.path, {variable.key}), what)
        except ProviderDefinitionError:
            return ""
        except ConfigProvidersError as error:
            problems = error.problems
        else:
            return ""
        return f"{printable(str(variable))}: {' '.join(problems)}"

    def _environment_names(self, definitions: Iterable[ProviderDefinition]) -> frozenset[str]:
        """Return the names of the environment variables that providers can read; a wrong definition adds none."""
        found: set[str] = set()
        for definition in definitions:
            with suppress(ConfigProvidersError):
                found.update(self._environment_names_of(definition))
        return frozenset(found)

    def _environment_names_of(self, definition: ProviderDefinition) -> Collection[str]:
        provider = self._make(definition)
        self._require(provider, definition)
        at = f"Provider {printable(definition.name)}: it cannot report which environment variables it reads"
        return _guarded(lambda: tuple(provider.environment_names(definition.params)), at)

    def _opened(self, definitions: Collection[ProviderDefinition], problems: list[str]) -> dict[str, ConfigProvider]:
        """Create all providers, then configure them; if anything is wrong, close them and raise all problems."""
        providers: dict[str, ConfigProvider] = {}
        with ExitStack() as undo:
            undo.callback(lambda: close_all(_named(providers)))
            for definition in definitions:
                with _collected(problems):
                    providers[definition.name] = self._make(definition)
                if (provider := providers.get(definition.name)) is not None:
                    for check in (self._refuse_unknown, self._require):
                        with _collected(problems):
                            check(provider, definition)
            for definition in definitions if len(providers) == len(definitions) else ():
                kind = ConfigProvidersError if problems else ProviderDefinitionError
                with _collected(problems, kind, prefix=f"Provider {printable(definition.name)}: "):
                    configure = partial(providers[definition.name].configure, definition.params)
                    _guarded(configure, "it cannot be configured")
            if problems:
                raise ProviderDefinitionError(*problems)
            undo.pop_all()
        return providers

    def _make(self, definition: ProviderDefinition) -> ConfigProvider:
        make = self._short_named(definition) or self._dotted(definition)
        return _guarded(make, f"{definition.shown_class} cannot be made")

    def _require(self, provider: ConfigProvider, definition: ProviderDefinition) -> None:
        missing = [
            f"{definition.key('param.' + param)} is missing: it says what the provider may read. "
            f"Add it, as in {definition.key('param.' + param)}={example}"
            for param, example in provider.required_params.items()
            if self._deployment and not str(definition.params.get(param, "")).strip()
        ]
        if missing:
            raise ProviderDefinitionError(*missing)

    def _refuse_unknown(self, provider: ConfigProvider, definition: ProviderDefinition) -> None:
        known = provider.params
        unknown = [
            f"{definition.key('param.' + param)} would be ignored: {printable(definition.class_name)} has no such "
            f"parameter{nearest(param, known) or '.'} Known are: {', '.join(sorted(known))}."
            for param in definition.params
            if known is not None and not _is_one_of(param, known)
        ]
        if unknown:
            raise ProviderDefinitionError(*unknown)

    def _short_named(self, definition: ProviderDefinition) -> Callable[[], ConfigProvider] | None:
        if self._classes is not None:
            return self._classes.get(definition.class_name)
        entries = [entry for entry in registered(ENTRY_POINT_GROUP) if entry.name == definition.class_name]
        if len(entries) > 1:
            raise ProviderDefinitionError(
                f"{definition.shown_class} is registered by "
                f"{' and '.join(sorted(_distribution(entry) for entry in entries))}. Uninstall all but one."
            )
        return self._loaded(entries[0].load, definition) if entries else None

    def _origin(self, definition: ProviderDefinition) -> str:
        entries = registered(ENTRY_POINT_GROUP) if self._classes is None else ()
        return next((_distribution(entry) for entry in entries if entry.name == definition.class_name), "")

    def _dotted(self, definition: ProviderDefinition) -> Callable[[], ConfigProvider]:
        path = definition.class_name
        if "." not in path:
            raise ProviderDefinitionError(self._unknown(definition))
        if path not in self._allowed_classes:
            setting = "option allowed_provider_classes of [config_providers]" if self._deployment else "allowed_classes"
            raise ProviderDefinitionError(
                f"{definition.shown_class} is not an allowed class. Add it to {setting}, or use a "
                f"short name: {self._known()}."
            )
        return self._loaded(lambda: imported(path), definition)

    def _loaded(self, load: Callable[[], object], definition: ProviderDefinition) -> type[ConfigProvider]:
        with self._importing():
            loaded = _guarded(load, f"{definition.shown_class} cannot be imported")
        if not (isinstance(loaded, type) and issubclass(loaded, ConfigProvider)):
            raise ProviderDefinitionError(
                f"{definition.shown_class} is not a ConfigProvider. Name a class that extends ConfigProvider."
            )
        return loaded

    def _unknown(self, definition: ProviderDefinition) -> str:
        key, name = definition.key("class"), definition.class_name
        if not name:
            return f"{key} is missing. Add it with one of: {self._known()}."
        hint = nearest(name, self._names()) or "."
        return f"{key}: there is no provider '{printable(name)}'{hint} Known are: {self._known()}."

    def _names(self) -> set[str]:
        if self._classes is not None:
            return set(self._classes)
        return {entry.name for entry in registered(ENTRY_POINT_GROUP)}

    def _known(self) -> str:
        return ", ".join(sorted(self._names())) or "none"


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
        super().__init__(_named(providers))
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


def _is_one_of(param: str, known: Collection[str]) -> bool:
    return param in known or any(name.endswith(".") and param.startswith(name) for name in known)


def _named(providers: Mapping[str, ConfigProvider]) -> list[tuple[str, ConfigProvider]]:
    return [(f"Provider {name}", provider) for name, provider in providers.items()]


@contextmanager
def _collected(
    problems: list[str], kind: type[ConfigProvidersError] = ProviderDefinitionError, *, prefix: str = ""
) -> Iterator[None]:
    try:
        yield
    except kind as error:
        problems += [prefix + problem for problem in error.problems]


def _guarded(call: Callable[[], _T], what: str) -> _T:
    """Call a provider's code. Of a foreign error, only the type is reported: its message can contain a value."""
    try:
        return call()
    except ConfigProvidersError as error:
        error.__cause__ = error.__context__ = None  # a client library's error can contain a server's answer
        raise
    except Exception as error:  # noqa: BLE001 - a provider can raise anything
        reason = type(error).__name__
    raise ProviderDefinitionError(f"{what} ({reason}).")


def _distribution(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else "a distribution without a name"
