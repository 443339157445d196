"""Objects that close what they have opened."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, Protocol

from airflow_config_providers.core.closed_on_exit import ClosedOnExit
from airflow_config_providers.core.once import Once
from airflow_config_providers.core.text import printable

if TYPE_CHECKING:
    from concurrent.futures import Future

LONGEST_CLOSE: Final = 60.0
"""The most seconds that are waited for a member to close: as for all providers of a job to answer, by default."""


class _CommonEnd:
    """When members that are closed together stop waiting; None before one of them waits."""

    until: float | None = None


_COMMON_END: Final[ContextVar[_CommonEnd | None]] = ContextVar("common_end", default=None)


def end_of_waiting(clock: Callable[[], float], seconds: float) -> float:
    """
    Return until when a member that is being closed can wait for a busy server, by its clock.

    Members that ``close_all`` closes together share the end, so that their waits do not add up; they have one clock.

    :param seconds: from when the first of them asks
    """
    until, common = clock() + seconds, _COMMON_END.get()
    if common is None:
        return until
    if common.until is None:
        common.until = until
    return common.until


class Closable(Protocol):
    """Something that must be closed."""

    def close(self) -> None:
        """Release everything that this object holds."""


def close_all(members: Iterable[tuple[str, Closable]], *, patience: float = LONGEST_CLOSE) -> None:
    """
    Close each of ``members``. A failure is logged, and the others are still closed.

    Each is closed in a thread that sees the caller's context variables. One that takes too long is logged, and goes on
    in its thread, which does not keep the process alive.

    If a signal handler raises meanwhile, the rest are closed in a thread that nobody waits for.

    :param patience: the seconds to wait for each
    """
    _close_each(deque((name, Once(member.close)) for name, member in members), patience)


def _close_each(rest: deque[tuple[str, Once]], patience: float) -> None:
    outer = _COMMON_END.set(_COMMON_END.get() or _CommonEnd())
    try:
        while rest:
            name, close = rest[0]
            closing = _in_thread(close)
            rest.popleft()  # a signal can come before, after the thread has started
            if problem := _problem_of_closing(closing, patience):
                import logging  # noqa: PLC0415 - slow to import, and most members can be closed

                logging.getLogger(__name__).warning("%s could not be closed: %s", printable(name), problem)
    finally:
        if rest:
            _in_thread(_close_each, rest, patience)
        _COMMON_END.reset(outer)


def _in_thread(call: Callable[..., None], *args: Any) -> Future[None]:
    """Make a call in a thread. A signal handler can raise in the import, too."""
    from airflow_config_providers.core.concurrency.workers import in_thread  # noqa: PLC0415 - slow to import, and what only reverses closes nothing

    return in_thread(call, *args)


def _problem_of_closing(closing: Future[None], patience: float) -> str:
    """Return the type of the error with which it ended, whose message could contain a value, or that it takes long."""
    from concurrent.futures import wait  # noqa: PLC0415 - as above

    wait([closing], patience)
    if not closing.done():
        return f"it has not ended after {patience:g} seconds"
    error = closing.exception()
    return type(error).__name__ if error else ""


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
