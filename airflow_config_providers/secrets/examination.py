"""What is wrong with the entries of a file, without resolving their references."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_config_providers.core.cached import cached_property
from airflow_config_providers.core.diagnosis import Diagnosis, fine, of_problem
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import ConfigVariable, variables
from airflow_config_providers.core.wording import counted
from airflow_config_providers.exceptions import ConfigProvidersError, problems_of
from airflow_config_providers.secrets.definitions import DefinitionSource
from airflow_config_providers.secrets.entry_files import TEAM, EntryFiles, lines_of, place_of
from airflow_config_providers.secrets.entry_shapes import Shape
from airflow_config_providers.secrets.process_state import state
from airflow_config_providers.secrets.resolution import texts

if TYPE_CHECKING:
    from airflow_config_providers.core.registry import ProviderRegistry


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
