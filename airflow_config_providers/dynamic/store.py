"""The interfaces of stores for dynamic configuration."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from airflow_config_providers.core.closing import Closable
from airflow_config_providers.dynamic.inheritance import Read
from airflow_config_providers.exceptions import ForbiddenError


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
