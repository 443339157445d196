"""Objects that close what they have opened, and calls that are made at most once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

from airflow_config_providers.core.closed_on_exit import ClosedOnExit
from airflow_config_providers.core.text import printable

if TYPE_CHECKING:
    from concurrent.futures import Future

LONGEST_CLOSE: Final = 60.0
"""The most seconds that are waited for a member to close: as for all providers of a job to answer, by default."""


class Once:
    """
    Makes a call when it is first called itself, and nothing afterwards. Thread-safe, also in a signal handler.

    False once the call was made, or is being made. A signal handler that raises just before it begins interrupts it, as
    one that raises in its first line does: it is not made again.

    :param call: None for no call
    """

    __slots__ = ("_left",)

    def __init__(self, call: Callable[[], object] | None) -> None:
        self._left = [] if call is None else [call]

    def __call__(self) -> None:
        """Make the call, unless it was made before, or is being made."""
        try:
            call = self._left.pop()  # only one thread gets it
        except IndexError:
            return
        call()

    def __bool__(self) -> bool:
        return bool(self._left)


class WaitsToClose:
    """Base class of members whose ``close`` can wait for a busy server: as long as ``end_of_waiting`` says."""


class _Turn:
    """
    When members that are closed together stop waiting, or one of them: it has an equal share of the time that is left.

    :param outer: the turn that this is a part of: for one member, that of all of them, and for these, that of the
        member that closes them; None if none does
    :param members: how many can wait that are not closed yet, with this one
    """

    def __init__(self, outer: _Turn | None, members: int = 1) -> None:
        self._outer = outer
        self._members = members
        self._until: float | None = None

    def until(self, now: float, seconds: float) -> float:
        """Return until when, of ``seconds`` from when the first of them asks."""
        if self._until is None:
            end = now + seconds if self._outer is None else self._outer.until(now, seconds)
            self._until = now + (end - now) / self._members
        return self._until


_TURN: Final[ContextVar[_Turn | None]] = ContextVar("turn", default=None)


def end_of_waiting(clock: Callable[[], float], seconds: float) -> float:
    """
    Return until when a member that is being closed can wait for a busy server, by its clock.

    Members that ``close_all`` closes together share the time, so that their waits do not add up; they have one clock.
    Each that is a ``WaitsToClose`` has an equal part of what those before it have left, so that none takes all of it.

    :param seconds: for all of them, from when the first of them asks
    """
    turn = _TURN.get()
    return clock() + seconds if turn is None else turn.until(clock(), seconds)


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
    _close_each(deque(_Member.of(name, member) for name, member in members), patience, _Turn(_TURN.get()))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class _Member:
    name: str
    close: Once
    can_wait: bool

    @classmethod
    def of(cls, name: str, member: Closable) -> Self:
        def close() -> None:
            member.close()  # looked up here, since that can fail too

        return cls(name, Once(close), can_wait=issubclass(type(member), WaitsToClose))


def _close_each(rest: deque[_Member], patience: float, common: _Turn) -> None:
    outer = _TURN.set(None)
    try:
        while rest:
            _TURN.set(_Turn(common, max(1, sum(member.can_wait for member in rest))))
            closing = _in_thread(rest[0].close)
            closed = rest.popleft()  # a signal can come before, after the thread has started
            if problem := _problem_of_closing(closing, patience):
                import logging  # noqa: PLC0415 - slow to import, and most members can be closed

                logging.getLogger(__name__).warning("%s could not be closed: %s", printable(closed.name), problem)
    finally:
        if rest:
            _in_thread(_close_each, rest, patience, common)
        _TURN.reset(outer)


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
