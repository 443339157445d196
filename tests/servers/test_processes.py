"""The processes that a test has started, and what they have started."""

from __future__ import annotations

import os
import signal
import subprocess

import psutil

from tests.limits import eventually
from tests.servers.spark_cluster import with_descendants


def test_a_process_is_found_with_all_below_it() -> None:
    command = ["sh", "-c", "sh -c 'sleep 600 & wait' & wait"]
    with subprocess.Popen(command, start_new_session=True) as process:
        try:
            assert eventually(lambda: len(with_descendants([process.pid])) == 3)
            found = with_descendants([process.pid])
            assert found[0] == process.pid
            assert set(found[1:]) == {one.pid for one in psutil.Process(process.pid).children(recursive=True)}
            assert set(found) <= set(with_descendants([os.getpid()]))
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def test_who_looks_again_finds_what_was_started_and_misses_what_has_ended() -> None:
    parents: dict[int, int] = {}
    with subprocess.Popen(["sleep", "600"]) as first:
        assert first.pid in with_descendants([os.getpid()], parents)
        with subprocess.Popen(["sleep", "600"]) as second:
            both = with_descendants([os.getpid()], parents)
            second.kill()
        one = with_descendants([os.getpid()], parents)
        first.kill()

    assert {first.pid, second.pid} <= set(both)
    assert first.pid in one
    assert second.pid not in one


def test_each_process_is_found_once() -> None:
    assert with_descendants([os.getpid(), os.getpid()]).count(os.getpid()) == 1
