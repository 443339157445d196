"""Calls under way, which callers that want the same one share: made in threads of their own, or in that of a caller."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import CancelledError, Future
from functools import partial
from typing import Any, Final, TypeVar

from airflow_config_providers.core.concurrency.per_process import PerProcess
from airflow_config_providers.core.concurrency.workers import in_thread
from airflow_config_providers.core.text import counted
from airflow_config_providers.exceptions import ConfigProvidersError, ProviderLookupError, ProviderUnavailableError

_T = TypeVar("_T")

_MOST: Final = 4
"""How many calls of one name can hang at the same time."""

Wait = Callable[[str, Future[object]], object]


class SharedCall(Future[object]):
    """
    A call under way. If another call with the same name succeeds first, its result is used.

    A caller that stops waiting sets ``is_given_up``, so that the next caller does not wait for this call either.
    """

    is_given_up = False


_Calls = tuple[threading.RLock, dict[str, list[SharedCall]]]
"""The calls of one process, name -> calls, oldest first, and their lock."""


class SharedCalls:
    """
    Makes each call in a daemon thread of its own. Thread-safe.

    A caller that wants a call while it is under way shares it, unless it was given up: then the call is made again.
    A call that hangs therefore costs a few threads at most, however often it is wanted. A forked child, which has none
    of these threads, makes its own calls.
    """

    def __init__(self) -> None:
        self._here: PerProcess[_Calls] = PerProcess(lambda: (threading.RLock(), {}))

    def start(self, name: str, call: Callable[[], object]) -> SharedCall:
        """Start ``call``, unless one with this name is under way. It sees the context variables of this caller."""
        lock, named = self._here()
        with lock:
            calls = named.setdefault(name, [])
            if calls and (len(calls) >= _MOST or not (calls[-1].is_given_up or calls[-1].done())):
                return calls[-1]
            calls.append(begun := SharedCall())
            in_thread(call).add_done_callback(partial(_end, lock, calls, begun))
            return begun


def _end(lock: threading.RLock, calls: list[SharedCall], ended: SharedCall, made: Future[object]) -> None:
    error = made.exception()
    with lock:
        calls.remove(ended)
        for call in [ended, *calls] if error is None else [ended]:
            if call.done():
                continue
            if error is not None:
                call.set_exception(error)
            else:
                call.set_result(made.result())


class SingleFlight:
    """
    Makes a call once for all threads that want it while it runs. The result is not kept. Thread-safe.

    A call must not wait for another call, or two can wait for each other. A forked child must create a new object:
    calls that were under way in the parent never end in the child.

    :param patience: seconds to wait for another thread's call; None for no limit
    :param asks_again: let a thread ask once more if a call that was under way before it asked gets no answer: the
        other thread's time was up, but not its own
    """

    def __init__(self, patience: float | None = 120.0, *, asks_again: bool = False) -> None:
        self._patience = patience
        self._asks_again = asks_again
        self._lock = threading.Lock()
        self._flights: dict[Hashable, Future[Any]] = {}

    def run(self, key: Hashable, call: Callable[[], _T]) -> _T:
        """
        Return the result of ``call``, or of another thread's call for ``key`` that is under way.

        If the other thread is interrupted, this thread makes the call itself, or shares one that began later.

        :raises ProviderUnavailableError: the other thread takes too long
        :raises Exception: whatever the call raised; each thread gets its own error object
        """
        may_ask_again = self._asks_again
        while True:
            mine: Future[_T] = Future()
            try:
                flight = self._joined(key, mine)
                if flight is mine:
                    return self._fly(key, mine, call)
            finally:
                self._end(key, mine)
                mine.cancel()  # it has no outcome if this thread was interrupted
            try:
                return self._landed(flight)
            except CancelledError:
                pass
            except ProviderUnavailableError:
                if not may_ask_again or not flight.done():
                    raise
            may_ask_again = False

    def _joined(self, key: Hashable, mine: Future[_T]) -> Future[_T]:
        with self._lock:
            return self._flights.setdefault(key, mine)

    def _fly(self, key: Hashable, mine: Future[_T], call: Callable[[], _T]) -> _T:
        try:
            result = call()
        except Exception as error:
            self._end(key, mine)
            mine.set_exception(error)
            raise
        self._end(key, mine)
        mine.set_result(result)
        return result

    def _end(self, key: Hashable, mine: Future[_T]) -> None:
        with self._lock:
            if self._flights.get(key) is mine:
                del self._flights[key]

    def _landed(self, flight: Future[_T]) -> _T:
        error: BaseException | None
        try:
            error = flight.exception(self._patience)
        except TimeoutError:
            error = ProviderUnavailableError(
                f"Another thread has been asking for the same for "
                f"{counted(self._patience or 0, 'second')}. Try again later."
            )
        if error is None:
            return flight.result()
        raise _copy(error)


def _copy(error: BaseException) -> BaseException:
    """Return a copy of ``error``: two threads that raise the same object would mix up its traceback."""
    if isinstance(error, ConfigProvidersError):
        return error.again()
    return ProviderLookupError(f"Another thread that asked for the same failed with {type(error).__name__}.")
