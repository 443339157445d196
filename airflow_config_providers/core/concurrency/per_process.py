"""
Fork safety: objects that a forked child must not share with its parent, and forks that must wait.

Other modules call these functions instead of ``os.register_at_fork``, so that everything that happens at a fork can be
audited here. Registrations last as long as the process.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Generic, Protocol, TypeVar

_T = TypeVar("_T")


class PerProcess(Generic[_T]):
    """
    Returns one object in each process, created on first use; other threads wait until it is created.

    A forked child creates its own object, even if a thread of the parent held the lock. The child keeps a reference to
    the parent's object, so that it does not close anything that the parent still uses.

    :param make: creates the object; its errors are passed on, and the next call tries again
    """

    def __init__(self, make: Callable[[], _T]) -> None:
        self._make = make
        self._slots: dict[int, tuple[threading.RLock, list[_T]]] = {}

    def __call__(self) -> _T:
        """Return the object of this process."""
        lock, made = self._slots.setdefault(os.getpid(), (threading.RLock(), []))  # a signal handler can come in
        with lock:
            if not made:
                made.append(self._make())
            return made[0]


def hold_forks(lock: threading.Lock | threading.RLock) -> None:
    """Make each fork wait until ``lock`` is free, so that a child never finds it held by a thread of its parent."""
    os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)


class Forgetting(Protocol):
    """Something that a forked child must not go on with."""

    def forget(self) -> None:
        """In a forked child: leave threads, locks and the like to the parent."""


_FORGETTING: Final[weakref.WeakSet[Forgetting]] = weakref.WeakSet()


def forget_in_children(member: Forgetting) -> None:
    """Call ``member.forget`` at the start of each forked child, as long as ``member`` exists."""
    _FORGETTING.add(member)


def run_in_children(start_anew: Callable[[], object]) -> None:
    """Call ``start_anew`` at the start of each forked child, which has only one thread; locks can be held by others."""
    os.register_at_fork(after_in_child=start_anew)


def _forget_all() -> None:
    for member in list(_FORGETTING):
        with suppress(Exception):  # the others must be prepared, and a log could wait for a lock of the parent
            member.forget()


run_in_children(_forget_all)
