"""Files that are read in a process of their own."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from airflow_config_providers.spark.audit.leaks.open_file import ContentError, LoadedFile, OpenFile
from airflow_config_providers.spark.audit.leaks.reader_processes import MOST_MEMORY, Readers

FILE = LoadedFile(b"0123456789")


class Unreadable:
    is_far = False

    def read(self, at: int, size: int) -> bytes:
        raise ContentError("It has vanished.")


def readers(work: Callable[[OpenFile, Any], Any]) -> Readers[Any, Any]:
    return Readers(work)


def end(source: OpenFile, is_last: bool) -> int:
    if is_last:
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()


def fill_memory(source: OpenFile, size: int) -> str:
    try:
        bytearray(size)
    except MemoryError:
        return "no memory"
    return "memory"


def what_fails(source: OpenFile, job: object) -> str:
    try:
        source.read(0, 1)
    except ContentError as error:
        return str(error)
    return ""


def test_another_process_finds_and_this_one_reads() -> None:
    ticks: list[int] = []

    with readers(lambda source, job: (source.read(*job), os.getpid())) as those:
        found, process = those.read(FILE, (2, 3), ticks.append)

    assert found == b"234"
    assert ticks == [3]
    assert process != os.getpid()
    assert not psutil.pid_exists(process)


def test_what_cannot_be_read_is_an_error_there() -> None:
    with readers(what_fails) as those:
        assert those.read(Unreadable(), None, print) == "It has vanished."


def test_a_process_goes_on_with_the_next_file_and_one_that_ends_costs_only_its_own() -> None:
    with readers(end) as those:
        first, second = (those.read(FILE, False, print) for _ in range(2))
        with pytest.raises(ContentError, match="ended without a result"):
            those.read(FILE, True, print)
        third = those.read(FILE, False, print)

    assert first == second != third


def test_threads_have_a_process_each() -> None:
    with ThreadPoolExecutor(8) as threads, readers(lambda source, job: source.read(job, 1)) as those:
        found = list(threads.map(lambda at: those.read(FILE, at % 10, lambda octets: None), range(200)))

    assert b"".join(found) == b"0123456789" * 20


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no limit without /proc")
def test_a_file_that_asks_for_all_memory_gets_none() -> None:
    with readers(fill_memory) as those:
        assert those.read(FILE, 2 * MOST_MEMORY, print) == "no memory"
