"""The references in an entry, such as a connection's fields or a variable's JSON: replaced by values, or examined."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from airflow_config_providers.core.diagnosis import Diagnosis, fine, of_problem
from airflow_config_providers.core.nested import DEEPEST_NESTING, map_leaves
from airflow_config_providers.core.on_demand import ProvidersOnDemand
from airflow_config_providers.core.provider import ConfigProvider
from airflow_config_providers.core.provider_definition import unknown_provider
from airflow_config_providers.core.resolver import ConfigResolver
from airflow_config_providers.core.reversal.reverse import SHORTEST
from airflow_config_providers.core.text import counted, octets, printable
from airflow_config_providers.core.variable import ConfigVariable, scan, variables
from airflow_config_providers.exceptions import ConfigProvidersError, ProviderDefinitionError, problems_of, refuse
from airflow_config_providers.lazy import cached_property
from airflow_config_providers.providers.airflow_secrets import airflow_is_starting
from airflow_config_providers.secrets import answering
from airflow_config_providers.secrets.answering import import_what_an_answer_needs
from airflow_config_providers.secrets.definitions import DefinitionSource
from airflow_config_providers.secrets.entry_files import TEAM, EntryFiles, lines_of, place_of
from airflow_config_providers.secrets.entry_shapes import Shape, WrongEntryError
from airflow_config_providers.secrets.process_state import ProcessState, state

if TYPE_CHECKING:
    from airflow_config_providers.core.registry import ProviderRegistry


def resolved(content: Any, where: str, *, definitions: DefinitionSource, state: ProcessState) -> Any:
    """
    Return ``content`` with the references in its strings replaced. Each value is registered with Airflow's masker.

    :param content: strings, and collections of strings; without references, no provider is opened
    :param where: its name in messages
    :raises AccessDeniedError: a provider refused
    :raises ProviderUnavailableError: a provider could not answer
    :raises UnresolvedReferenceError: all providers are defined, but one of them has no such key
    :raises ConfigProvidersError: a definition is wrong
    """
    wanted = texts(content, where)
    if not wanted:
        return content
    import_what_an_answer_needs()
    with state.providers(definitions).use() as providers:
        _refuse_unknown(wanted, providers)
        if answering.is_nested():  # an answer for another answer must not wait for providers that other threads open
            providers.open_for(wanted.values())
        values = _values(wanted, providers)
    return replaced(content, values)


def _values(wanted: Mapping[str, str], providers: Mapping[str, ConfigProvider]) -> dict[str, str]:
    from airflow_config_providers import settings  # noqa: PLC0415 - Airflow might be reading its configuration

    attempts = 1 if answering.is_nested() else 3  # the outer answer retries; a scheduler cannot wait for long
    options = replace(
        settings.fetch_options(), attempts=attempts, waits_if_busy=False, in_callers_thread=airflow_is_starting()
    )
    found = ConfigResolver(providers, options=options).resolve([], wanted)
    _mask(found.values())
    return {text: found.text(where) for where, text in wanted.items()}


def _refuse_unknown(wanted: Mapping[str, str], providers: ProvidersOnDemand) -> None:
    problems = [
        f"{where}: {unknown_provider(variable, providers, unlisted=providers.unlisted)}"
        for where, text in wanted.items()
        for variable in variables(text)
        if variable.provider not in providers
    ]
    refuse(ProviderDefinitionError, problems)


def _mask(values: Iterable[str]) -> None:
    """Register values, plain and encoded as in a URI, with both maskers: those of tasks and of servers."""
    from airflow_config_providers.masker import mask_everywhere  # noqa: PLC0415 - not to start Airflow

    long = [value for value in values if len(value) >= SHORTEST]  # or the encoded form of a shorter one is masked
    mask_everywhere([*long, *(quote(octets(value), safe="") for value in long)])


def texts(structure: Any, where: str) -> dict[str, str]:
    """
    Return each string that holds a reference once, under its place, such as ``connection db, extra.token``.

    :param where: the name of the structure
    :raises WrongEntryError: a name contains a reference, or the collections are nested too deeply
    """
    found: dict[str, str] = {}
    seen: set[str] = set()
    for place, text in _leaves(structure, "", where):
        if text not in seen:
            seen.add(text)
            label = f"{where}, {place}" if place else where
            while label in found:  # the name 'a.b' and the names 'a', 'b' have the same place
                label += "'"
            found[label] = text
    return found


def replaced(structure: Any, values: Mapping[str, str]) -> Any:
    """Return ``structure`` with the strings that are keys of ``values`` replaced, each once."""
    return map_leaves(structure, lambda leaf: values.get(leaf, leaf) if isinstance(leaf, str) else leaf)


def _leaves(structure: Any, place: str, where: str, *, depth: int = DEEPEST_NESTING) -> Iterator[tuple[str, str]]:
    if isinstance(structure, str):
        if scan(structure):
            yield place, structure
        return
    if depth == 0:
        raise WrongEntryError(f"{where}: its collections are nested too deeply.")
    for name, child in _children(structure):
        if scan(name):
            raise WrongEntryError(
                f"{where}: the name '{printable(name)}' in it contains a reference, but a value never becomes a name. "
                f"Write the name itself."
            )
        yield from _leaves(child, f"{place}.{printable(name)}" if place else printable(name), where, depth=depth - 1)


def _children(structure: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(structure, Mapping):
        yield from ((str(name), child) for name, child in structure.items())
    elif isinstance(structure, list | tuple):
        yield from ((str(position), child) for position, child in enumerate(structure))


class DefinedProviders:
    """
    The providers of a backend, whose definitions are read when a reference is found.

    :param definitions: where they are defined
    :ivar problems: what is wrong with the definitions, after they were read
    """

    def __init__(self, definitions: DefinitionSource) -> None:
        self._definitions = definitions
        self.problems: list[str] = []

    def refusals(self, wanted: Iterable[ConfigVariable]) -> Iterable[str]:
        """Return why no provider will ever answer some of the ``wanted`` references."""
        return self._registry.refusals(self._props, wanted).values() if self._props is not None else ()

    @cached_property
    def _props(self) -> Mapping[str, str] | None:
        from airflow_config_providers.masker import mask_parameters  # noqa: PLC0415 - not to start Airflow

        try:
            found = self._definitions.read()
            mask_parameters(found)
            providers, problems = self._registry.open_each(found)
        except ConfigProvidersError as error:
            self.problems.extend(error.problems)
            return None
        with providers:
            self.problems.extend(problems)
        return found

    @cached_property
    def _registry(self) -> ProviderRegistry:
        from airflow_config_providers.job.providers import deployment_registry  # noqa: PLC0415 - starts Airflow

        return deployment_registry()


@dataclass(frozen=True, slots=True)
class FileExamination:
    """
    Looks at files of one kind.

    :param kind: what an entry is, such as ``connection``
    :param shape: name, definition -> shape
    :param providers: the providers that references can name
    """

    kind: str
    files: EntryFiles
    shape: Callable[[str, Any], Shape]
    providers: DefinedProviders

    def diagnoses(self) -> Iterator[Diagnosis]:
        """Yield what is found in each file."""
        for path in self.files.paths:
            if TEAM in path:
                yield fine(f"'{printable(path)}' is the path of each team's own file, which is not checked here.")
            else:
                yield from self._of_file(path)

    def _of_file(self, path: str) -> Iterator[Diagnosis]:
        try:
            entries = self.files.entries(path, state().files)
        except ConfigProvidersError as error:
            yield from map(of_problem, error.problems)
            return
        yield fine(f"'{printable(path)}' defines {counted(len(entries), self.kind)}.")
        lines: Mapping[str, int] | None = None
        for name, definition in entries.items():
            for problem in self._of_entry(str(name), definition):
                lines = lines_of(path) if lines is None else lines
                yield of_problem(f"{self.kind} {printable(str(name))} in {place_of(path, str(name), lines)}: {problem}")

    def _of_entry(self, name: str, definition: Any) -> Iterator[str]:
        if definition is None:
            return
        found: list[str] = []
        yield from problems_of(lambda: found.extend(texts(self.shape(name, definition).content, "it").values()))
        wanted = list(dict.fromkeys(one for text in found for one in variables(text)))
        if wanted:
            yield from self.providers.refusals(wanted)
