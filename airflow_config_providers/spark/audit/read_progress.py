"""How many files of records Spark has read so far."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.spark.audit.record_row import Content, RecordRow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Read = Callable[[Iterable[Content]], Iterator[RecordRow]]
"""Returns the records in files. It runs in executors, so it is a function of a module."""

Tick = Callable[[int, int], None]
"""Is called with how many files were read so far, and how many there are to read."""

_SECONDS: Final = 0.5


class ReadProgress:
    """
    Counts the files that executors read. A task that runs twice is counted twice, so it is not for results.

    :param session: whose executors read
    """

    def __init__(self, session: SparkSession) -> None:
        self._read = session.sparkContext.accumulator(0)
        self._total = 0

    def expect(self, files: int) -> None:
        """Add files that will be read."""
        self._total += files

    def counting(self, read: Read) -> Read:
        """Return ``read`` such that it counts the files."""
        return partial(_counted, read, self._read)

    @property
    def now(self) -> tuple[int, int]:
        """How many files were read, and how many there are."""
        return min(self._read.value, self._total), self._total


def _counted(read: Read, counter: Any, contents: Iterable[Content]) -> Iterator[RecordRow]:
    return read(_each(contents, counter))


def _each(contents: Iterable[Content], counter: Any) -> Iterator[Content]:
    for one in contents:
        counter.add(1)
        yield one


@contextmanager
def ticking(session: SparkSession, tick: Tick | None, *, every: float = _SECONDS) -> Iterator[ReadProgress | None]:
    """
    Yield what counts files, and call ``tick`` now and then in a thread, which ends with the block.

    :param tick: None to count nothing, without a thread
    :param every: seconds between two calls
    """
    if tick is None:
        yield None
        return
    progress, is_over = ReadProgress(session), Event()
    thread = Thread(target=_tick, args=(progress, tick, is_over, every), name="audit-progress", daemon=True)
    thread.start()
    try:
        yield progress
    finally:
        is_over.set()
        thread.join()


def _tick(progress: ReadProgress, tick: Tick, is_over: Event, every: float) -> None:
    while not is_over.wait(every):
        tick(*progress.now)
    tick(*progress.now)
