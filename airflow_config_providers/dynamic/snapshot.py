"""Documents as they were at one moment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from airflow_config_providers.core.alter import ConfigResource, ResourceType
from airflow_config_providers.dynamic import document
from airflow_config_providers.dynamic.document import Document, StoredConfig, name_of
from airflow_config_providers.dynamic.store import ConfigStore, Kept

DEPLOYMENT = ConfigResource(ResourceType.DEFAULT)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """
    What a store has for some resources and for those that they inherit from.

    :param kept: name -> the text as it was read
    """

    kept: Mapping[str, Kept] = field(repr=False)

    @classmethod
    def read(cls, store: ConfigStore, resources: Iterable[ConfigResource], *, more: Iterable[str] = ()) -> Self:
        """
        Read the documents of ``resources`` and of the deployment.

        :param more: names of further texts to read in the same moment
        """
        names = [name_of(resource) for resource in (DEPLOYMENT, *resources)]
        return cls(store.read(list(dict.fromkeys([*names, *more]))))

    def document(self, resource: ConfigResource) -> Document:
        """
        Give the document that holds ``resource``.

        :raises ConfigException: it cannot be read
        """
        name = name_of(resource)
        return document.read(self.text(name), name=name)

    def config(self, resource: ConfigResource) -> StoredConfig:
        """Give what ``resource`` itself has. Errors as with ``document``."""
        return self.document(resource).config(resource)

    def text(self, name: str) -> str | None:
        """Give what is stored under ``name``."""
        return self.kept.get(name, Kept()).text
