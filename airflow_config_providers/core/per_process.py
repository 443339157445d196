"""Objects that a forked child must not share with its parent."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

_T = TypeVar("_T")


@dataclass(slots=True)
class _Slot(Generic[_T]):
    lock: threading.Lock = field(default_factory=threading.Lock)
    made: list[_T] = field(default_factory=list, repr=False)


class PerProcess(Generic[_T]):
    """
    Gives one object in each process, made when it is first asked for; threads wait for the one that makes it.

    A forked child makes its own, also where another thread of the parent held the lock. That of the parent stays
    referred to there, so that nothing of it is closed behind the parent's back.

    :param make: makes the object; what it raises is passed on, and the next call tries again
    :param pid: gives the id of the process
    """

    def __init__(self, make: Callable[[], _T], *, pid: Callable[[], int] = os.getpid) -> None:
        self._make = make
        self._pid = pid
        self._slots: dict[int, _Slot[_T]] = {}

    def __call__(self) -> _T:
        """Give the object of this process."""
        slot = self._slots.setdefault(self._pid(), _Slot())
        with slot.lock:
            if not slot.made:
                slot.made.append(self._make())
            return slot.made[0]
