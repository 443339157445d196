"""Objects that close what they have opened."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol, Self

from airflow_config_providers.core.text import printable

if TYPE_CHECKING:
    from types import TracebackType


class Closable(Protocol):
    """Something that must be closed."""

    def close(self) -> None:
        """Release everything that this object holds."""


def close_all(members: Iterable[tuple[str, Closable]]) -> None:
    """
    Close each of ``members``. A failure is logged, and the others are still closed.

    Nothing limits the time: in a thread that could be abandoned, closing in a signal handler would wait for locks that
    the interrupted call holds, which the same thread can take again.
    """
    for name, member in members:
        try:
            member.close()
        except Exception as error:  # noqa: BLE001 - the others must be closed too; its message could contain a value
            import logging  # noqa: PLC0415 - slow to import, and most members can be closed

            log = logging.getLogger(__name__)
            log.warning("%s could not be closed: %s", printable(name), type(error).__name__)


class ClosedOnExit(ABC):
    """A context manager that closes itself on exit."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Release everything that this object holds."""


class Closing(ClosedOnExit):
    """
    Closes its members once, on exit from its context or when ``close`` is called.

    :param members: each with its name for people, such as ``Provider vault``
    """

    def __init__(self, members: Iterable[tuple[str, Closable]]) -> None:
        self._members = tuple(members)
        self._is_closed = False

    def close(self) -> None:
        """Close every member; a second call does nothing."""
        if not self._is_closed:
            self._is_closed = True
            close_all(self._members)
