"""Postpones ``execution_timeout`` while the values of a job are removed from what others can see."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Final, Self, TypeVar

_T = TypeVar("_T")

_ALARM: Final = signal.SIGALRM
"""The signal by which Airflow interrupts a task that takes longer than its ``execution_timeout``."""


class PostponedTimeout:
    """
    Holds the alarm of the timeout back until the end of a ``with`` block, except while ``run`` runs the job.

    An alarm that was held back interrupts the task at the end of the block if the block raises. Otherwise the job has
    ended in time, and a warning says so. Airflow interrupts only the main thread: elsewhere, nothing is held back.

    :param log: the log of the task
    """

    def __init__(self, log: Any) -> None:
        self._log = log
        self._has_rung = False
        self._handler: Any = None

    def __enter__(self) -> Self:
        self._hold()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._let_go()
        if self._has_rung and kind is not None:
            self._ring()
        elif self._has_rung:
            self._log.warning("The execution_timeout of this task ended while it cleaned up. Its job had ended before.")

    def run(self, job: Callable[[], _T]) -> _T:
        """Run ``job``, which the alarm interrupts."""
        with self._ringing():
            return job()

    @contextmanager
    def _ringing(self) -> Iterator[None]:
        self._let_go()
        try:
            if self._has_rung:
                self._ring()
            yield
        finally:
            self._hold()

    def _hold(self) -> None:
        handler = signal.getsignal(_ALARM)
        if handler is not None and threading.current_thread() is threading.main_thread():
            self._handler = handler
            signal.signal(_ALARM, self._note)

    def _let_go(self) -> None:
        if self._handler is not None:
            signal.signal(_ALARM, self._handler)
            self._handler = None

    def _note(self, number: int, frame: object) -> None:
        self._has_rung = True

    def _ring(self) -> None:
        self._has_rung = False
        signal.raise_signal(_ALARM)
