"""A trigger that calls a synchronous hook asks in the thread of the triggerer's event loop."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import greenback
import pytest

from airflow_config_providers.secrets.config_providers import off_the_loop
from tests.limits import LONGEST


async def _nothing():
    return "answer of the loop"


@pytest.fixture
def secret(shelf):
    """Two paths, so that threads ask, and a provider that needs the loop, as whoever asks Airflow in a triggerer."""
    shelf.book.data = {path: {"password": "p4ss"} for path in ("a", "b")}
    shelf.loop = None
    shelf.book.on_get = lambda path: asyncio.run_coroutine_threadsafe(_nothing(), shelf.loop).result(timeout=LONGEST)
    return shelf


def test_the_loop_runs_on_while_the_backend_asks(secret):
    backend = secret.backend({"db": "x://${book:a:password}:${book:b:password}@h"})

    async def trigger():
        secret.loop = asyncio.get_running_loop()
        await greenback.ensure_portal()
        return backend.get_connection("db").password

    assert asyncio.run(trigger()) == "p4ss"


def test_it_is_asked_even_while_all_threads_of_the_loop_are_busy():
    may_end = threading.Event()

    async def trigger():
        await greenback.ensure_portal()
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(1))
        busy = asyncio.ensure_future(asyncio.to_thread(may_end.wait, LONGEST))
        answer = off_the_loop(lambda: "answer")
        was_busy = not busy.done()
        may_end.set()
        await busy
        return answer, was_busy

    assert asyncio.run(trigger()) == ("answer", True)


def test_without_a_portal_it_is_asked_there():
    async def here():
        return off_the_loop(threading.get_ident)

    assert asyncio.run(here()) == threading.get_ident()


def test_without_a_loop_it_is_asked_there():
    assert off_the_loop(threading.get_ident) == threading.get_ident()


def test_an_error_comes_back():
    async def trigger():
        await greenback.ensure_portal()
        off_the_loop(lambda: int("x"))

    with pytest.raises(ValueError, match="invalid literal"):
        asyncio.run(trigger())
