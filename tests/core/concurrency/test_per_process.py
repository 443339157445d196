"""Objects that a forked child makes anew, and forks that wait."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import airflow_config_providers
from airflow_config_providers.core.concurrency.per_process import (
    PerProcess,
    forget_in_children,
    hold_forks,
    run_in_children,
)
from tests.core.forks import in_child
from tests.limits import LONGEST


def test_many_threads_get_the_same_object_which_is_made_once():
    made = []
    barrier = threading.Barrier(8)
    get = PerProcess(lambda: made.append(1) or object())

    def ask(_):
        barrier.wait()
        return get()

    with ThreadPoolExecutor(8) as pool:
        objects = set(pool.map(ask, range(8)))
    assert (len(objects), len(made)) == (1, 1)


def test_what_could_not_be_made_is_tried_again():
    attempts = iter([ValueError("down"), None])

    def make():
        if error := next(attempts):
            raise error
        return "made"

    get = PerProcess(make)
    with pytest.raises(ValueError, match="down"):
        get()
    assert get() == "made"


def test_another_process_gets_another_object():
    get = PerProcess(object)

    first, same = get(), get()
    is_shared = in_child(lambda: get() is first)

    assert first is same is get()
    assert is_shared == "False"


def test_a_forked_child_makes_its_own():
    get = PerProcess(os.getpid)
    parent = get()

    child = in_child(get)

    assert parent == os.getpid() == get()
    assert child not in {"", str(parent)}


def test_a_child_does_not_wait_for_a_thread_that_it_does_not_have():
    """The parent's lock is held by a thread at the moment of the fork."""
    begun, end = threading.Event(), threading.Event()
    parent = os.getpid()

    def make():
        if os.getpid() == parent:
            begun.set()
            end.wait(LONGEST)
        return os.getpid()

    get = PerProcess(make)
    thread = threading.Thread(target=get)
    thread.start()
    begun.wait(LONGEST)
    child = in_child(get)
    end.set()
    thread.join()

    assert child not in {"", str(parent)}


def test_a_fork_waits_for_a_lock_and_the_child_finds_it_free():
    lock, held = threading.Lock(), threading.Event()
    released = []

    def hold():
        with lock:
            held.set()
            time.sleep(0.3)
            released.append(True)

    hold_forks(lock)
    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(LONGEST)
    child = in_child(lambda: (released, lock.locked()))
    thread.join()

    assert child == str(([True], False))
    assert not lock.locked()


def test_each_child_starts_anew_and_its_parent_does_not():
    started = []
    run_in_children(lambda: started.append("anew"))

    assert in_child(lambda: started) == str(["anew"])
    assert started == []


def test_forks_are_prepared_for_in_one_place():
    """So that it can be audited."""
    package = Path(airflow_config_providers.__file__).parent
    modules = {path.relative_to(package) for path in package.rglob("*.py") if "register_at_fork" in path.read_text()}

    assert modules == {Path("core/concurrency/per_process.py")}


def test_a_member_that_fails_keeps_no_other_from_being_prepared_in_a_child():
    class Member:
        def __init__(self, *, fails=False):
            self.fails, self.has_forgotten = fails, False

        def forget(self):
            self.has_forgotten = True
            if self.fails:
                raise ValueError("not configured")

    members = [Member(fails=not number % 2) for number in range(8)]
    for member in members:
        forget_in_children(member)

    assert in_child(lambda: sum(member.has_forgotten for member in members)) == "8"
