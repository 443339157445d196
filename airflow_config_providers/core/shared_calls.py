"""Calls under way, which callers that want the same one share."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Final

from airflow_config_providers.core.per_process import PerProcess
from airflow_config_providers.core.workers import in_thread

_MOST: Final = 4
"""How many calls of one name can hang at the same time."""

Wait = Callable[[str, Future[object]], object]


class SharedCall(Future[object]):
    """
    A call under way. If another call with the same name succeeds first, its result is used.

    A caller that stops waiting sets ``is_given_up``, so that the next caller does not wait for this call either.
    """

    is_given_up = False


class _Calls:
    """The calls of one process: name -> calls, oldest first."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.named: dict[str, list[SharedCall]] = {}


class SharedCalls:
    """
    Makes each call in a daemon thread of its own. Thread-safe.

    A caller that wants a call while it is under way shares it, unless it was given up: then the call is made again.
    A call that hangs therefore costs a few threads at most, however often it is wanted. A forked child, which has none
    of these threads, makes its own calls.

    :param pid: returns the id of the process
    """

    def __init__(self, *, pid: Callable[[], int] = os.getpid) -> None:
        self._here = PerProcess(_Calls, pid=pid)

    def start(self, name: str, call: Callable[[], object]) -> SharedCall:
        """Start ``call``, unless one with this name is under way. It sees the context variables of this caller."""
        here = self._here()
        with here.lock:
            calls = here.named.setdefault(name, [])
            if calls and (len(calls) >= _MOST or not (calls[-1].is_given_up or calls[-1].done())):
                return calls[-1]
            calls.append(begun := SharedCall())
            in_thread(call).add_done_callback(partial(_end, here.lock, calls, begun))
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
