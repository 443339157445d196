"""Blocking calls in a thread that runs an event loop, such as when a trigger calls a synchronous hook."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")


def off_the_loop(call: Callable[[], _T]) -> _T:
    """
    Return the result of a blocking call, made in another thread if this one runs an event loop that allows it.

    In a triggerer, requests of other threads to Airflow go through that loop: they would wait for this thread, and this
    thread for them. Airflow prepares its loop with ``greenback``; without that, the call is made in this thread.
    """
    greenback = sys.modules.get("greenback")
    if greenback is None or not _runs_a_loop() or not greenback.has_portal():
        return call()
    result: _T = greenback.await_(asyncio.to_thread(call))
    return result


def _runs_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
