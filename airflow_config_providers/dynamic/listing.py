"""The list of DAGs' documents in the deployment's document, which spares tasks reading documents that do not exist."""

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
    Return ``documents``, which will be written, and the deployment's document if it is missing or lists too few.

    A change that writes an unlisted document also writes the list, and names are never removed from it. So the list is
    complete if ``before`` is what is stored, which the store ensures.

    :param documents: name -> document
    :param before: the deployment's document as it was read
    :param store: provides the names if there is no list
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
