"""Threads that make calls side by side and keep no process from ending."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import Any, ParamSpec, TypeVar

from airflow_config_providers.core.closing import ClosedOnExit

_P = ParamSpec("_P")
_T = TypeVar("_T")

_Call = tuple["Future[Any]", Callable[[], Any]]


class Workers(ClosedOnExit):
    """
    Makes calls in the order in which they come, several at once. Each call sees the caller's context variables.

    Nobody waits for a call that hangs: its thread is a daemon, and so unlike those of an executor, which the
    interpreter joins before it ends.

    :param most: how many calls are made at once
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._threads = 0

    def start(self, call: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """Have ``call`` made; the future ends with what it gives or raises."""
        future: Future[_T] = Future()
        context = copy_context()
        self._calls.put((future, lambda: context.run(call, *args, **kwargs)))
        if self._threads < self._most:
            self._start_thread()
        return future

    def close(self) -> None:
        """Begin no further call, and let the threads end when their calls do."""
        with suppress(Empty):
            while (waiting := self._calls.get_nowait()) is not None:
                waiting[0].cancel()
        for _ in range(self._threads):
            self._calls.put(None)

    def _start_thread(self) -> None:
        try:
            threading.Thread(target=_work, args=(self._calls,), name="config-provider", daemon=True).start()
        except RuntimeError:  # a process that is about to end, or has too many, gets no more threads
            if not self._threads:
                _make(self._calls.get())
            return
        self._threads += 1


def _work(calls: SimpleQueue[_Call | None]) -> None:
    while (waiting := calls.get()) is not None:
        _make(waiting)
        del waiting  # a value must not stay alive because its thread waits for the next call


def _make(waiting: _Call | None) -> None:
    if waiting is None or not waiting[0].set_running_or_notify_cancel():
        return
    future, call = waiting
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001 - the one who waits for the future gets it, an interrupt too
        future.set_exception(error)
    else:
        future.set_result(result)
