"""What is stored for several resources at one moment, and marks by which a process notices that it has changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.dynamic import document, history
from airflow_config_providers.dynamic.document import DEPLOYMENT, Document, StoredConfig, history_name, name_of
from airflow_config_providers.dynamic.history import History
from airflow_config_providers.dynamic.inheritance import inherited
from airflow_config_providers.dynamic.store import ConfigStore, Kept


@dataclass(frozen=True, slots=True)
class Snapshot:
    """
    Stored configuration of some resources and of those from which they inherit. Each text is parsed once.

    Not thread-safe.

    :param kept: name -> the text as it was read
    """

    kept: Mapping[str, Kept] = field(repr=False)
    _documents: dict[str, Document] = field(default_factory=dict, init=False, repr=False, compare=False)
    _histories: dict[str, History] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def read(cls, store: ConfigStore, resources: Iterable[ConfigResource], *, histories: bool = False) -> Self:
        """
        Return the documents of ``resources`` and of the deployment.

        :param histories: whether to read the histories of ``resources`` at the same moment
        """
        wanted = list(resources)
        names = [name_of(resource) for resource in (DEPLOYMENT, *wanted)]
        names += [history_name(resource) for resource in wanted if histories]
        return cls(store.read(list(dict.fromkeys(names))))

    def document(self, resource: ConfigResource) -> Document:
        """
        Return the document that contains ``resource``.

        :raises ConfigException: it cannot be read
        """
        name = name_of(resource)
        if name not in self._documents:
            self._documents[name] = document.read(self._text(name), name=name)
        return self._documents[name]

    def config(self, resource: ConfigResource) -> StoredConfig:
        """Return the configuration of ``resource`` itself."""
        return self.document(resource).config(resource)

    def history(self, resource: ConfigResource) -> History:
        """
        Return the changes of the document that contains ``resource``.

        :raises ConfigException: the history cannot be read
        """
        name = history_name(resource)
        if name not in self._histories:
            self._histories[name] = history.read(self._text(name), name=name)
        return self._histories[name]

    def _text(self, name: str) -> str | None:
        return self.kept.get(name, Kept()).text


@dataclass(frozen=True, slots=True)
class ChangeMark:
    """
    A value that differs after each change and each refresh of a resource, or of what it inherits from.

    :param versions: the versions of the last changes, strongest resource first, as in ``inherited``
    :param refreshed: the versions of the last refreshes, in the same order
    """

    versions: tuple[int, ...]
    refreshed: tuple[int, ...]

    @classmethod
    def of(cls, configs: Iterable[StoredConfig]) -> Self:
        """Return the mark of a resource. ``configs`` are what it has and inherits, strongest first."""
        versions, refreshed = zip(*((config.version, config.refreshed) for config in configs), strict=True)
        return cls(versions, refreshed)

    def weakest_change(self, since: ChangeMark) -> int:
        """Return the position of the weakest resource that was changed or refreshed ``since``; -1 if none was."""
        pairs = zip(self.versions, self.refreshed, since.versions, since.refreshed, strict=True)
        changed = [position for position, (v, r, v0, r0) in enumerate(pairs) if (v, r) != (v0, r0)]
        return max(changed, default=-1)


def change_mark(resource: ConfigResource, snapshot: Snapshot) -> ChangeMark:
    """
    Return the mark of ``resource`` in ``snapshot``.

    :raises ConfigException: stored configuration cannot be read
    """
    return ChangeMark.of(snapshot.config(one) for one in inherited(resource))
