"""Threads that make calls side by side."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, ParamSpec, TypeVar

from airflow_config_providers.core.closed_on_exit import ClosedOnExit

_P = ParamSpec("_P")
_T = TypeVar("_T")
_R = TypeVar("_R")

_QueuedCall = tuple["Future[Any]", Callable[[], Any]]


def in_thread(call: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
    """
    Make ``call`` in a daemon thread of its own, with the caller's context variables.

    If no thread can be started, as at shutdown, the call is made here, before this returns.

    :return: a future that gets the result or the error
    """
    future: Future[_T] = Future()
    made = (future, partial(copy_context().run, call, *args, **kwargs))
    if not _is_started(_make, made):
        _make(made)
    return future


class Workers(ClosedOnExit):
    """
    Makes calls in the order in which they come, several in parallel. Each call sees the caller's context variables.

    A call that hangs does not keep the process alive: its thread is a daemon, unlike the threads of an executor, which
    the interpreter joins at exit.

    :param most: how many calls are made in parallel
    :param at_first: how many before ``spread`` is called; None for ``most``
    """

    def __init__(self, most: int, *, at_first: int | None = None) -> None:
        self._most = most
        self._at_once = most if at_first is None else at_first
        self._calls: SimpleQueue[_QueuedCall | None] = SimpleQueue()
        self._threads = 0

    def start(self, call: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """Queue ``call``; the future gets its result or its error."""
        future: Future[_T] = Future()
        self._calls.put((future, partial(copy_context().run, call, *args, **kwargs)))
        if not self._has_begun_thread() and not self._threads:
            _make(self._calls.get())
        return future

    def spread(self, begun: Iterable[Future[Any]] = (), *, after: float = 0.0) -> None:
        """
        Make up to ``most`` calls in parallel from now on, also of those that wait.

        :param begun: first wait until they have ended, but no longer than ``after`` seconds
        """
        wait(begun, after)
        self._at_once = self._most
        for _ in range(self._calls.qsize()):
            if not self._has_begun_thread():
                break

    def _has_begun_thread(self) -> bool:
        """Begin a thread, unless there are enough or none can be started; return whether one was begun."""
        if self._threads >= self._at_once or not _is_started(_work, self._calls):
            return False
        self._threads += 1
        return True

    def close(self) -> None:
        """Cancel the waiting calls; the threads end when their current calls do."""
        with suppress(Empty):
            while (waiting := self._calls.get_nowait()) is not None:
                waiting[0].cancel()
        for _ in range(self._threads):
            self._calls.put(None)


class BriefWorkers:
    """
    Makes calls in the order in which they come, several in parallel, in threads that exist only meanwhile. Thread-safe.

    Each call sees the caller's context variables. A call that waits for its turn is not made if its future is
    cancelled. The threads are daemons, as those of ``Workers``. A forked child must create a new object.

    :param most: how many calls are made in parallel
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._calls: deque[_QueuedCall] = deque()
        self._threads = 0

    def start(self, call: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """
        Queue ``call``; the future gets its result or its error.

        If no thread can be started, and there is none, the call is made here, before this returns.
        """
        future: Future[_T] = Future()
        with self._lock:
            self._calls.append((future, partial(copy_context().run, call, *args, **kwargs)))
            is_enough = self._threads >= self._most
            self._threads += not is_enough
        if not is_enough and not _is_started(BriefWorkers._work, self) and not self._is_left_to_others():
            self._work()
        return future

    def _is_left_to_others(self) -> bool:
        """Return whether there are threads; then this one, which could not be started, is no longer expected."""
        with self._lock:
            has_others = self._threads > 1
            self._threads -= has_others
            return has_others

    def _work(self) -> None:
        while (waiting := self._next()) is not None:
            _make(waiting)
            del waiting  # so that a value is not kept alive by the next call

    def _next(self) -> _QueuedCall | None:
        """Return the next call; None if none waits, and then the thread ends."""
        with self._lock:
            if self._calls:
                return self._calls.popleft()
            self._threads -= 1
            return None


def side_by_side(call: Callable[[_T], _R], items: Sequence[_T], *, at_once: int) -> list[_R]:
    """
    Return the result of ``call`` for each item, in the order of the items.

    The first call is made alone: a store can sign in with it, and locks out a user who is refused many times at once.
    After a call fails, no other begins, and its error is raised; if several fail, that of the first of these items.
    Calls in other threads see the caller's context variables.

    :param at_once: the most calls that are made at the same time
    """
    first, rest = [call(item) for item in items[:1]], items[1:]
    if len(rest) < 2 or at_once < 2:
        return first + [call(item) for item in rest]
    failed: list[BaseException] = []
    with Workers(min(at_once, len(rest))) as workers:
        asked = [workers.start(_unless_failed, failed, call, item) for item in rest]
        return first + [future.result() for future in asked]


def _is_started(target: Callable[[_T], None], argument: _T) -> bool:
    """Start a daemon thread, and return whether one could be started."""
    try:
        threading.Thread(target=target, args=(argument,), name="config-provider", daemon=True).start()
    except RuntimeError:  # at shutdown, or with too many threads, no more can be started
        return False
    return True


def _work(calls: SimpleQueue[_QueuedCall | None]) -> None:
    while (waiting := calls.get()) is not None:
        _make(waiting)
        del waiting  # so that a value does not stay alive while the thread waits for the next call


def _make(waiting: _QueuedCall | None) -> None:
    if waiting is None or not waiting[0].set_running_or_notify_cancel():
        return
    future, call = waiting
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001 - the caller that waits for the future gets it, even an interrupt
        future.set_exception(error)
    else:
        future.set_result(result)
    finally:
        del waiting, future, call  # the frames of the error would hold it, with the values in them


def _unless_failed(failed: list[BaseException], call: Callable[[_T], _R], item: _T) -> _R:
    if failed:
        raise failed[0]
    try:
        return call(item)
    except BaseException as error:
        failed.append(error)
        raise
