"""Replaces the references in an entry, such as a connection's fields or a variable's JSON, by values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from airflow_config_providers.core.nested import DEEPEST_NESTING, map_leaves
from airflow_config_providers.core.on_demand import ProvidersOnDemand
from airflow_config_providers.core.provider import ConfigProvider
from airflow_config_providers.core.provider_definition import unknown_provider
from airflow_config_providers.core.resolver import ConfigResolver
from airflow_config_providers.core.reversal.reverse import SHORTEST
from airflow_config_providers.core.text import octets, printable
from airflow_config_providers.core.variable import scan, variables
from airflow_config_providers.exceptions import ProviderDefinitionError, refuse
from airflow_config_providers.providers.airflow_secrets import airflow_is_starting
from airflow_config_providers.secrets import answer_chain
from airflow_config_providers.secrets.definitions import DefinitionSource
from airflow_config_providers.secrets.entry_shapes import WrongEntryError
from airflow_config_providers.secrets.imports import import_what_an_answer_needs
from airflow_config_providers.secrets.process_state import ProcessState


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
        if answer_chain.is_nested():  # an answer for another answer must not wait for providers that other threads open
            providers.open_for(wanted.values())
        values = _values(wanted, providers)
    return replaced(content, values)


def _values(wanted: Mapping[str, str], providers: Mapping[str, ConfigProvider]) -> dict[str, str]:
    from airflow_config_providers import settings  # noqa: PLC0415 - Airflow might be reading its configuration

    attempts = 1 if answer_chain.is_nested() else 3  # the outer answer retries; a scheduler cannot wait for long
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
