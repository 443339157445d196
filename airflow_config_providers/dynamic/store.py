"""Where dynamic configuration is kept."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Kept:
    """
    A text as it was read.

    :param text: None where there is none
    :param mark: differs whenever the text was written since
    """

    text: str | None = field(default=None, repr=False)
    mark: object | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """
    A change, for the log of who did what. It holds references but no values.

    :param event: what was done, such as ``alter_config``
    :param dag_id: the DAG; empty for the deployment
    :param task_id: the task; empty for a DAG
    :param details: what else there is to tell, as JSON has it
    """

    event: str
    dag_id: str
    task_id: str
    details: Mapping[str, object]


class ConfigStore(Protocol):
    """
    Keeps texts by name. Safe to use from several processes.

    :raises ProviderUnavailableError: it cannot be asked now
    """

    def read(self, names: Collection[str]) -> Mapping[str, Kept]:
        """Give what there is, for each name; as it was at one moment."""

    def swap(self, expected: Mapping[str, Kept], texts: Mapping[str, str], audit: Sequence[AuditEntry]) -> bool:
        """
        Write ``texts``, and ``audit`` with them, if all is still as ``expected``; else nothing, and give False.

        A process that is killed meanwhile leaves all of it or nothing.
        """


@runtime_checkable
class Listing(Protocol):
    """A store that knows what it keeps. Of one that does not, a task asks for documents that are not there."""

    def names(self, prefix: str) -> Collection[str]:
        """
        Give the names that begin with ``prefix``.

        :raises ProviderUnavailableError: it cannot be asked now
        """


@runtime_checkable
class TurnTaking(Protocol):
    """A store that can keep other writers waiting. One that cannot leaves it to luck which of many gets through."""

    def turn(self, names: Collection[str]) -> AbstractContextManager[ConfigStore]:
        """
        Return a store for one change: until it is written, or the context ends, nobody else writes ``names``.

        A name that nothing is stored under cannot be kept from others. Where the turn cannot be had, the store
        is one that keeps nobody waiting.

        :raises ProviderUnavailableError: it cannot be asked now
        """
