"""Objects that close what they have opened."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextvars import copy_context
from typing import TYPE_CHECKING, Final, Protocol, Self

from airflow_config_providers.core.text import printable

if TYPE_CHECKING:
    from types import TracebackType


LONGEST_CLOSE: Final = 60.0
"""The most seconds that are waited for a member to close: as for all providers of a job to answer, by default."""


class Closable(Protocol):
    """Something that must be closed."""

    def close(self) -> None:
        """Release everything that this object holds."""


def close_all(members: Iterable[tuple[str, Closable]], *, patience: float = LONGEST_CLOSE) -> None:
    """
    Close each of ``members``. A failure is logged, and the others are still closed.

    Each is closed in a thread that sees the caller's context variables. One that takes too long is logged, and goes on
    in its thread, which does not keep the process alive.

    :param patience: the seconds to wait for each
    """
    for name, member in members:
        if problem := _problem_of_closing(member, patience):
            import logging  # noqa: PLC0415 - slow to import, and most members can be closed

            logging.getLogger(__name__).warning("%s could not be closed: %s", printable(name), problem)


def _problem_of_closing(member: Closable, patience: float) -> str:
    """Close ``member``; return the type of its error, whose message could contain a value, or that it takes long."""
    import threading  # noqa: PLC0415 - slow to import, and what only reverses closes nothing

    failures: list[str] = []

    def close() -> None:
        try:
            member.close()
        except BaseException as error:  # noqa: BLE001 - nobody else would catch it in this thread
            failures.append(type(error).__name__)

    thread = threading.Thread(target=copy_context().run, args=(close,), name="config-provider-close", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # at shutdown, or with too many threads, no more can be started
        close()
        return "".join(failures)
    thread.join(patience)
    return f"it has not ended after {patience:g} seconds" if thread.is_alive() else "".join(failures)


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
