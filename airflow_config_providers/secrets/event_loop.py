"""Blocking calls in a thread that runs an event loop, as when a trigger calls a synchronous hook."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")


def off_the_loop(call: Callable[[], _T]) -> _T:
    """
    Make a call that blocks, in another thread where this one runs an event loop and Airflow has prepared for that.

    In a triggerer, what other threads ask Airflow goes through that loop: they would wait for this thread, and this
    thread for them. Airflow prepares with ``greenback``; where it has not, the call is made here.
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
