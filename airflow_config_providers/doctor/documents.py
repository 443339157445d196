"""Stored dynamic configuration that tasks cannot read, or do not read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Final, Protocol

from airflow_config_providers.core.diagnosis import Diagnosis, doubt, of_problem
from airflow_config_providers.core.text import printable
from airflow_config_providers.dynamic import document
from airflow_config_providers.dynamic.store import ConfigStore, Listing
from airflow_config_providers.exceptions import problems_of

_MOST: Final = 10
"""How many findings are shown: with another Fernet key, there is one for each DAG."""


class ListedStore(ConfigStore, Listing, Protocol):
    """A store that can list its names."""


def check_documents(store: ListedStore) -> Iterator[Diagnosis]:
    """
    Yield each document that cannot be read, and each that tasks do not read.

    :raises ProviderUnavailableError: the store does not answer
    """
    found = _findings(store, document.documents(store.names(document.PREFIX)))
    yield from islice(found, _MOST)
    if (more := next(found, None)) is not None:  # the gravest come first
        yield replace(more, what="There are more such variables.", way_out="Correct these first, and repeat the check.")


def _findings(store: ConfigStore, names: list[str]) -> Iterator[Diagnosis]:
    """Yield what is wrong with each document. Each is read alone: an error of one hides no other."""
    of_deployment = document.name_of(document.DEPLOYMENT)
    found: dict[str, document.Document] = {}

    def read(name: str) -> None:
        found[name] = document.read(store.read([name])[name].text, name=name)

    for name in dict.fromkeys([*names, of_deployment]):
        yield from map(of_problem, problems_of(partial(read, name)))
    if (listing := found.get(of_deployment)) is not None:
        of_dags = (name for name in names if name != of_deployment)
        yield from (_unlisted(name, of_deployment) for name in of_dags if not listing.lists(name))


def _unlisted(name: str, of_deployment: str) -> Diagnosis:
    return doubt(
        f"Tasks do not read the variable '{printable(name)}', because '{of_deployment}' does not list it.",
        "Change a key of that DAG, which adds it to the list, or restore both variables from the same backup.",
    )
