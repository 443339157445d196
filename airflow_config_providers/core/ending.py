"""Calls that clean up after an object when it is garbage-collected, or when the process ends."""

from __future__ import annotations

import atexit
import os
import weakref
from collections.abc import Callable
from contextlib import ExitStack
from contextvars import Context
from typing import TYPE_CHECKING, Final

from airflow_config_providers.core.closing import LONGEST_CLOSE
from airflow_config_providers.core.concurrency.per_process import PerProcess

if TYPE_CHECKING:
    from concurrent.futures import Future


BRIEFLY: Final = 1.0
"""The most seconds for which the thread that collects an owner waits until its end is made."""


class Ending:
    """
    Makes a call once: when its owner is gone, when the process ends, or when this object is called before.

    An owner can be collected at any moment, in a thread that holds a lock which the call needs. Then, the call is made
    in a thread of its own, and the collecting one waits for it only ``BRIEFLY``: the process could end without calling
    what is registered for its end, as a child of ``multiprocessing`` does. Otherwise, the end of the process waits for
    it, up to ``LONGEST_CLOSE`` seconds. That of a forked child ends nothing that its parent has begun. Thread-safe.

    :param end: must not refer to the owner
    :param is_quick: returns whether ``end`` needs no lock of others, so that it can be called at any moment
    """

    __slots__ = ("_finalizer",)

    def __init__(
        self, owner: object, end: Callable[[], object], *, is_quick: Callable[[], bool] = lambda: False
    ) -> None:
        process = _PROCESS()
        self._finalizer = weakref.finalize(owner, process.end_apart, end, is_quick)
        process.expect(self._finalizer)

    def __call__(self) -> None:
        """Make the call in this thread, unless it has been made or given up."""
        _end_here(self._finalizer)

    def give_up(self) -> None:
        """Never make the call."""
        self._finalizer.detach()


class _ToEnd:
    """What one process still has to end."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._expected: set[weakref.finalize[..., object]] = set()
        self._begun: set[Future[object]] = set()
        self.is_closing = False
        """Whether the process calls what was registered for its end."""
        atexit.register(self._close)  # what was registered before a fork is not called at the end of Airflow's tasks

    def expect(self, finalizer: weakref.finalize[..., object]) -> None:
        """Call ``finalizer`` at the end of this process, instead of Python."""
        finalizer.atexit = False
        self._expected.add(finalizer)  # without a lock, which a signal handler that creates another could wait for
        self._expected.difference_update([each for each in list(self._expected) if not each.alive])

    def end_apart(self, end: Callable[[], object], is_quick: Callable[[], bool]) -> None:
        """Call ``end`` in another thread, without the context variables of whatever runs here; here if it is quick."""
        if is_quick():
            end()
            return
        from concurrent.futures import wait  # noqa: PLC0415 - slow to import

        from airflow_config_providers.core.concurrency.workers import in_thread  # noqa: PLC0415 - as above

        begun: Future[object] = in_thread(Context().run, end)
        self._begun.add(begun)
        begun.add_done_callback(self._begun.discard)
        wait([begun], BRIEFLY)

    def _close(self) -> None:
        if os.getpid() != self._pid:
            return
        self.is_closing = True
        with ExitStack() as all_of_them:
            all_of_them.callback(self._wait)
            for finalizer in list(self._expected):
                all_of_them.callback(_end_here, finalizer)

    def _wait(self) -> None:
        if begun := list(self._begun):
            from concurrent.futures import wait  # noqa: PLC0415 - slow to import

            wait(begun, LONGEST_CLOSE)


_PROCESS: Final = PerProcess(_ToEnd)


def is_process_ending() -> bool:
    """Return whether this process is ending: other threads, and functions registered for the end earlier, still run."""
    return _PROCESS().is_closing


def _end_here(finalizer: weakref.finalize[..., object]) -> None:
    if (found := finalizer.detach()) is not None:
        _, _, (end, _), _ = found
        end()
