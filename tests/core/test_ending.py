"""What ends when its owner is gone, or the process ends."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
import weakref
from contextvars import ContextVar
from types import FrameType
from typing import Any

import pytest

from airflow_config_providers.core import ending as ending_module
from airflow_config_providers.core.ending import Ending
from tests.limits import LONGEST, eventually

_who: ContextVar[str] = ContextVar("_who", default="nobody")


class Owner:
    """Something that is collected."""


def test_it_ends_when_its_owner_is_gone() -> None:
    ended = threading.Event()
    owner = Owner()
    Ending(owner, ended.set)
    del owner
    gc.collect()

    assert ended.wait(LONGEST)


def test_a_thread_that_collects_the_owner_can_hold_a_lock_that_the_end_needs() -> None:
    lock, ended = threading.Lock(), threading.Event()

    def end() -> None:
        with lock:
            ended.set()

    owner = Owner()
    Ending(owner, end)
    with lock:
        del owner
        gc.collect()
    assert ended.wait(LONGEST)


def test_a_thread_that_collects_the_owner_waits_briefly_for_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ending_module, "BRIEFLY", LONGEST)
    ended: list[int] = []

    def end() -> None:
        time.sleep(0.1)
        ended.append(1)

    owner = Owner()
    Ending(owner, end)
    del owner
    gc.collect()

    assert ended == [1]


def test_what_an_end_returns_is_not_kept() -> None:
    results: list[weakref.ref[Owner]] = []

    def end() -> Owner:
        result = Owner()
        results.append(weakref.ref(result))
        return result

    owner = Owner()
    Ending(owner, end)
    del owner
    gc.collect()

    assert eventually(lambda: results and results[0]() is None)


def test_one_that_has_ended_is_not_kept_until_the_process_ends() -> None:
    owner, other = Owner(), Owner()
    Ending(owner, int, is_quick=lambda: True)
    del owner
    gc.collect()
    Ending(other, int)

    assert all(each.alive for each in ending_module._PROCESS()._expected)


def test_an_end_that_needs_no_lock_is_made_at_once() -> None:
    ended: list[int] = []
    owner = Owner()
    Ending(owner, lambda: ended.append(threading.get_ident()), is_quick=lambda: True)
    del owner
    gc.collect()

    assert ended == [threading.get_ident()]


def test_it_ends_without_the_context_of_what_runs_meanwhile() -> None:
    seen: list[str] = []
    owner = Owner()
    Ending(owner, lambda: seen.append(_who.get()))
    token = _who.set("another job")
    try:
        del owner
        gc.collect()
    finally:
        _who.reset(token)

    assert eventually(lambda: seen)
    assert seen == ["nobody"]


def test_a_signal_handler_that_interrupts_the_creation_of_an_ending_can_create_one() -> None:
    owner, other, seen = Owner(), Owner(), []

    def trace(frame: FrameType, event: str, arg: object) -> Any:
        if event == "line" and frame.f_code.co_name == "expect" and frame.f_lineno not in seen:
            seen.append(frame.f_lineno)
            creating = threading.Thread(target=Ending, args=(other, int), daemon=True)  # a thread, so as not to hang
            creating.start()
            creating.join(LONGEST)
            assert not creating.is_alive()
        return trace

    before = sys.gettrace()
    try:
        sys.settrace(trace)
        Ending(owner, int)
    finally:
        sys.settrace(before)

    assert len(seen) > 2


def test_it_ends_once() -> None:
    ended: list[int] = []
    owner = Owner()
    ending = Ending(owner, lambda: ended.append(1), is_quick=lambda: True)
    ending()
    ending()
    del owner
    gc.collect()

    assert ended == [1]


def test_it_never_ends_if_it_was_given_up() -> None:
    ended: list[int] = []
    owner = Owner()
    ending = Ending(owner, lambda: ended.append(1), is_quick=lambda: True)
    ending.give_up()
    del owner
    gc.collect()

    assert ended == []


_START = """
import gc, os, threading, time, weakref
from airflow_config_providers.core.ending import Ending
class Owner: pass
def end(word):
    def say():
        time.sleep(1.5)
        os.write(1, word)
    return say
"""


def output_of(script: str) -> str:
    done = subprocess.run([sys.executable, "-c", _START + script], check=True, stdout=subprocess.PIPE, timeout=LONGEST)
    return done.stdout.decode()


def test_the_end_of_the_process_waits_for_what_ends_in_a_thread() -> None:
    assert output_of("owner = Owner()\nEnding(owner, end(b'ended'))\ndel owner") == "ended"


def test_what_still_has_an_owner_ends_with_the_process() -> None:
    assert output_of("owner = Owner()\nEnding(owner, end(b'ended'))") == "ended"


def test_one_that_fails_at_the_end_of_the_process_keeps_no_other_from_ending() -> None:
    assert (
        output_of("one, other = Owner(), Owner()\nEnding(one, end(b'ended'))\nEnding(other, lambda: 1 / 0)") == "ended"
    )


_TASK_OF_AIRFLOW = """
before = weakref.finalize(Owner, int)  # from now on, Python has registered what it does at the end of the process
owner = Owner()
if not (child := os.fork()):
    import atexit
    atexit._clear()
    Ending(owner, end(b"ended"))
    atexit._run_exitfuncs()
    os._exit(0)
os.waitpid(child, 0)
"""

_PARENT = """
owner = Owner()
Ending(owner, {})
if child := os.fork():
    os.waitpid(child, 0)
"""

_FORKING = pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without forks")


@_FORKING
def test_it_ends_with_a_process_that_clears_at_its_start_what_was_registered_for_its_end() -> None:
    assert output_of(_TASK_OF_AIRFLOW) == "ended"


@_FORKING
@pytest.mark.parametrize("end", ["end(b'ended')", "lambda: os.write(1, b'ended')"], ids=["slow", "quick"])
def test_what_a_parent_has_begun_ends_with_the_parent(end: str) -> None:
    assert output_of(_PARENT.format(end)) == "ended"
