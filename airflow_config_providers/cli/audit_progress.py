"""The progress of an audit: a bar on a terminal, and lines in the log of a scheduler or of a CI job."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from airflow_config_providers.cli.failing import write_or_drop
from airflow_config_providers.spark.audit.session import Tick

if TYPE_CHECKING:
    from typing import IO

    from rich.console import Console
    from rich.progress import ProgressColumn, Task

EVERY: Final = 30.0
"""Seconds from the start to the first line, and from one line to the next."""


Counted = Callable[[float], str]
"""Returns a number of what is read, as people read it."""


def octets_progress(console: Console | None = None) -> AbstractContextManager[Tick]:
    """
    Yield a function that shows how many bytes were read: as a bar on a terminal, and elsewhere as a line now and then.

    :param console: where to show it; None for standard error
    """
    from rich.progress import DownloadColumn, TransferSpeedColumn  # noqa: PLC0415 - only a command that runs needs it

    return _shown((DownloadColumn(), TransferSpeedColumn()), console, data_size)


def files_progress(console: Console | None = None) -> AbstractContextManager[Tick]:
    """
    Yield a function that shows how many files of records were read, and that their findings are made afterwards.

    :param console: as for ``octets_progress``
    """
    from rich.progress import MofNCompleteColumn, TextColumn  # noqa: PLC0415 - as above

    return _shown((TextColumn("records"), MofNCompleteColumn(), _rate()), console, number, unit="records")


@contextmanager
def _shown(
    columns: tuple[ProgressColumn, ...], console: Console | None, counted: Counted, *, unit: str = ""
) -> Iterator[Tick]:
    from rich.console import Console  # noqa: PLC0415 - as above
    from rich.progress import BarColumn, Progress, TimeRemainingColumn  # noqa: PLC0415 - as above

    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield ProgressLines(console.file, counted, unit=unit)
        return
    all_columns = (BarColumn(), *columns, TimeRemainingColumn(elapsed_when_finished=True))
    with Progress(*all_columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)


def _rate() -> ProgressColumn:
    from rich.progress import ProgressColumn  # noqa: PLC0415 - as above
    from rich.text import Text  # noqa: PLC0415 - as above

    class Rate(ProgressColumn):
        """Shows how many are read in a second."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text(f"{speed:,.0f}/s" if speed else "", style="progress.data.speed")

    return Rate()


class ProgressLines:
    """
    Writes the progress of an audit, at most every ``EVERY`` seconds, so that a short audit writes nothing.

    :param out: where to write the lines
    :param counted: returns an amount of what is read
    :param unit: what is counted, if ``counted`` does not say it
    :param clock: returns seconds
    """

    def __init__(
        self, out: IO[str], counted: Counted, *, unit: str = "", clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._out = out
        self._counted = counted
        self._read = f"{unit} read".lstrip()
        self._clock = clock
        self._start = self._last = clock()
        self._first: tuple[float, int] | None = None  # when something was read first, which Spark's start precedes

    def __call__(self, done: int, total: int) -> None:
        """Take how much was read so far, and how much there is to read."""
        now = self._clock()
        if done and not self._first:
            self._first = (now, done)
        if now - self._last >= EVERY:
            self._last = now
            write_or_drop(self._out, f"{self._line(done, total, now)}\n")

    def _line(self, done: int, total: int, now: float) -> str:
        after = f"progress: after {timedelta(seconds=int(now - self._start))}"
        if done >= total:
            return f"{after}, {self._counted(done)} {self._read}"
        if not self._first:
            return f"{after}, nothing of {self._counted(total)} {self._read} yet"
        start, before = self._first
        rate = (done - before) / (now - start) if now > start else 0
        speed = f", {self._counted(rate)}/s, {timedelta(seconds=round((total - done) / rate))} left" if rate else ""
        return f"{after}, {self._counted(done)} of {self._counted(total)} {self._read}{speed}"


def data_size(amount: float) -> str:
    """Return an amount of bytes, such as ``1.5 GB``."""
    from rich.filesize import decimal  # noqa: PLC0415 - only a command that takes long needs it

    return decimal(int(amount))


def number(amount: float) -> str:
    """Return a number, such as ``1,500``."""
    return f"{amount:,.0f}"
