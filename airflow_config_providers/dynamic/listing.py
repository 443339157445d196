"""The list of documents of DAGs that the deployment's document has, so that a task asks for no other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from airflow_config_providers.dynamic.document import EMPTY, Document, history_name, listed_as, name_of
from airflow_config_providers.dynamic.snapshot import DEPLOYMENT
from airflow_config_providers.dynamic.store import ConfigStore, Listing

_DEFAULT: Final = "default"
_PREFIX: Final = name_of(DEPLOYMENT).removesuffix(_DEFAULT)
_HISTORIES: Final = history_name(DEPLOYMENT).removesuffix(_DEFAULT)


def with_list(documents: Mapping[str, Document], before: Document, store: ConfigStore) -> dict[str, Document]:
    """
    Return ``documents``, which are to be written, with the deployment's where that is not there or lists too few.

    Whoever writes a document that is not listed writes the list in the same change, and nothing is ever taken off it.
    So it is complete whenever ``before`` is what is stored, which the store makes sure of.

    :param documents: by name
    :param before: the deployment's document as it was read
    :param store: is asked for its names where there is no list
    """
    name = name_of(DEPLOYMENT)
    known = _known(before, store)
    listed = None if known is None else known | {listed_as(one) for one in documents if one != name}
    if listed == before.listed and before is not EMPTY:
        return dict(documents)
    return {**documents, name: replace(documents.get(name, before), listed=listed)}


def _known(before: Document, store: ConfigStore) -> frozenset[str] | None:
    if before.listed is not None:
        return before.listed
    return frozenset(map(listed_as, _stored(store))) if isinstance(store, Listing) else None


def _stored(store: Listing) -> Iterator[str]:
    return (name for name in store.names(_PREFIX) if name != name_of(DEPLOYMENT) and not name.startswith(_HISTORIES))
