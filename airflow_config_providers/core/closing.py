"""What closes all that it has opened."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, Protocol, Self

from airflow_config_providers.core.text import printable

if TYPE_CHECKING:
    from types import TracebackType

_log: Final = logging.getLogger(__name__)


class Closable(Protocol):
    """What has to be closed."""

    def close(self) -> None:
        """Give back what it holds."""


def close_all(members: Iterable[tuple[str, Closable]]) -> None:
    """Close each of ``members``; one that fails to close is logged and keeps no other open."""
    for name, member in members:
        try:
            member.close()
        except Exception as error:  # noqa: BLE001 - the others must be closed too, and its text may hold a value
            _log.warning("%s could not be closed: %s", printable(name), type(error).__name__)


class ClosedOnExit(ABC):
    """Is closed when its context is left."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Give back what it holds."""


class Closing(ClosedOnExit):
    """
    Closes its members, once, when its context is left or ``close`` is called.

    :param members: each with what people call it, such as ``Provider vault``
    """

    def __init__(self, members: Iterable[tuple[str, Closable]]) -> None:
        self._members = tuple(members)
        self._is_closed = False

    def close(self) -> None:
        """Close every member; a second call does nothing."""
        if not self._is_closed:
            self._is_closed = True
            close_all(self._members)
