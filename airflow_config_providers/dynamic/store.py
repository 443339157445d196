"""The interfaces of stores for dynamic configuration, and a snapshot of what one has."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from typing import Protocol, Self, runtime_checkable

from airflow_config_providers.core.closing import Closable
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.dynamic import document, history
from airflow_config_providers.dynamic.document import (
    DEPLOYMENT,
    PREFIX,
    Document,
    StoredConfig,
    history_name,
    name_of,
)
from airflow_config_providers.dynamic.history import History
from airflow_config_providers.dynamic.inheritance import Read, inherited
from airflow_config_providers.exceptions import ConfigException, ForbiddenError


@dataclass(frozen=True, slots=True)
class Kept:
    """
    A string as read from a store.

    :param text: the text; None if there is none
    :param mark: a value that changes whenever the text is written
    """

    text: str | None = field(default=None, repr=False)
    mark: object | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """
    An entry in the audit log about a change. It contains references, but no values.

    :param event: the kind of change, such as ``alter``
    :param dag_id: the DAG; empty for the deployment
    :param task_id: the task; empty for a DAG
    :param details: more information that JSON can express
    """

    event: str
    dag_id: str
    task_id: str
    details: Mapping[str, object]


class ConfigStore(Protocol):
    """
    Keeps strings by name. Safe to use from several processes.

    :raises ProviderUnavailableError: the store is unavailable now
    """

    def read(self, names: Collection[str]) -> Mapping[str, Kept]:
        """Return what is stored under each name, all read at the same moment."""

    def swap(self, expected: Mapping[str, Kept], texts: Mapping[str, str], audit: Sequence[AuditEntry]) -> bool:
        """
        Write ``texts`` and ``audit`` and return True, if everything is still as ``expected``; otherwise return False.

        A process that is killed meanwhile has written all of it or nothing.
        """


@runtime_checkable
class Listing(Protocol):
    """A store that can list its names. With other stores, tasks also look for documents that do not exist."""

    def names(self, prefix: str) -> Collection[str]:
        """
        Return the names that begin with ``prefix``.

        :raises ProviderUnavailableError: the store is unavailable now
        """


@runtime_checkable
class Signalling(Protocol):
    """A store that can say at once that others have changed something. Other stores are only polled."""

    def listen(self, call: Callable[[], object]) -> Closable | None:
        """Call ``call`` after each change, in another thread, until the result is closed; None if it is impossible."""


@runtime_checkable
class TurnTaking(Protocol):
    """A store that can make other writers wait. With other stores, it is random which of many writers succeeds."""

    def turn(self, names: Collection[str]) -> AbstractContextManager[ConfigStore]:
        """
        Return a store for one change: no one else can write ``names`` until it is written or the block ends.

        A name under which nothing is stored cannot be protected. If the turn is not available, the result is a store
        that does not make others wait.

        :raises ProviderUnavailableError: the store is unavailable now
        """


@dataclass(frozen=True, slots=True)
class ReadOnlyStore:
    """
    A ``ConfigStore`` for a task, which reads through Airflow's Execution API: one request for each name.

    The names are not read at the same moment. They are read in their order, that of the deployment first, so that a
    reader of documents notices if two of them do not belong together.

    :param read_one: returns what is stored under a name
    """

    read_one: Read

    def read(self, names: Collection[str]) -> dict[str, Kept]:
        """Return what is stored under each of ``names``."""
        texts = {name: self.read_one(name) for name in names}
        return {name: Kept(text, text) for name, text in texts.items()}

    def swap(self, expected: Mapping[str, Kept], texts: Mapping[str, str], audit: Sequence[AuditEntry]) -> bool:
        """
        Write nothing.

        :raises ForbiddenError: always
        """
        raise ForbiddenError(
            "This process can only read dynamic configuration. Change it on the command line, over the REST "
            "interface, or in a process with access to Airflow's database."
        )


@dataclass(frozen=True, slots=True)
class Snapshot:
    """
    Stored configuration of some resources and of those from which they inherit. Each text is parsed once.

    Not thread-safe.

    :param kept: name -> the text as it was read
    :param at_once: whether all of it was read at the same moment
    """

    kept: Mapping[str, Kept] = field(repr=False)
    at_once: bool = True
    _documents: dict[str, Document] = field(default_factory=dict, init=False, repr=False, compare=False)
    _histories: dict[str, History] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def read(cls, store: ConfigStore, resources: Iterable[ConfigResource], *, histories: bool = False) -> Self:
        """
        Return the documents of ``resources`` and of the deployment.

        :param histories: whether to read the histories of ``resources`` at the same moment, as a change needs them;
            then also what tells the next version of the deployment if it has no document
        """
        wanted = list(resources)
        # histories first: beside an older document, a newer one tells of a loss
        names = [history_name(resource) for resource in wanted if histories]
        names += [name_of(resource) for resource in (DEPLOYMENT, *wanted)]
        kept = store.read(list(dict.fromkeys(names)))
        if histories and kept[name_of(DEPLOYMENT)].text is None:
            kept = {**store.read(_traces(store)), **kept}
        return cls(kept, at_once=not isinstance(store, ReadOnlyStore))

    def document(self, resource: ConfigResource) -> Document:
        """
        Return the document that contains ``resource``.

        :raises ConfigException: it cannot be read
        """
        return self._document(name_of(resource))

    def config(self, resource: ConfigResource) -> StoredConfig:
        """Return the configuration of ``resource`` itself."""
        return self.document(resource).config(resource)

    def history(self, resource: ConfigResource) -> History:
        """
        Return the changes of the document that contains ``resource``, and its loss if it was deleted or replaced.

        The loss of changes is one, too: if they are older than the document.

        :raises ConfigException: the history cannot be read
        """
        name = history_name(resource)
        if name not in self._histories:
            past = history.read(self.kept[name].text, name=name)
            with suppress(ConfigException):  # a document that cannot be read is not lost
                past = history.with_loss(past, self.document(resource))
                past = history.with_gap(past, self.document(resource)) if self.at_once else past
            self._histories[name] = past
        return self._histories[name]

    def base(self, resource: ConfigResource) -> Document:
        """
        Return the document that contains ``resource`` as a change finds it.

        If it is lost, the loss is a change too: versions are those of the last changes that are recorded. Nothing is
        recorded in a history that was not read, or cannot be.

        :raises ConfigException: the document cannot be read
        """
        found = self._with_versions_after_loss(resource)
        beside = self._versions_beside() if resource == DEPLOYMENT else ()
        return replace(found, version=max(found.version, *beside, 0))

    def numbered(self, resource: ConfigResource) -> StoredConfig:
        """
        Return the configuration of ``resource`` itself, with the version that a change of it builds on.

        :raises ConfigException: it cannot be read
        """
        return self._with_versions_after_loss(resource).config(resource)

    def _with_versions_after_loss(self, resource: ConfigResource) -> Document:
        """Return the document that contains ``resource``; if it is lost, with the versions after the loss."""
        found = self.document(resource)
        if not self.is_lost(resource):
            return found
        past = self._recorded(resource)
        versions = {change.task_id: change.version for change in past.changes if change.was}
        return found.at(past.version, versions)

    def is_lost(self, resource: ConfigResource) -> bool:
        """Return whether ``history`` ends with a loss of the document that is not written yet."""
        return self.document(resource).version < self._recorded(resource).version

    def _recorded(self, resource: ConfigResource) -> History:
        """Return ``history``; an empty one if it was not read, or cannot be."""
        if history_name(resource) in self.kept:
            with suppress(ConfigException):
                return self.history(resource)
        return History()

    def _document(self, name: str) -> Document:
        if name not in self._documents:
            self._documents[name] = document.read(self.kept[name].text, name=name)
        return self._documents[name]

    def _versions_beside(self) -> Iterator[int]:
        """Yield the versions of the deployment's document that others were written together with, if they are read."""
        for name in document.documents(self.kept):
            with suppress(ConfigException):
                yield self._document(name).beside


def _traces(store: ConfigStore) -> list[str]:
    """Return the names of what can know a version of the deployment's document: its history, and other documents."""
    names = document.documents(store.names(PREFIX)) if isinstance(store, Listing) else []
    return [*names, history_name(DEPLOYMENT)]


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
