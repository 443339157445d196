"""How far an audit is, on a terminal only: what was read, the rate and the time that is left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import ProgressColumn, Task

Tick = Callable[[int, int], None]
"""Is called with how much was read so far, and how much there is to read."""


@contextmanager
def octets_progress(console: Console | None = None) -> Iterator[Tick]:
    """
    Yield a function that shows how many bytes were read.

    :param console: where to show it, if that is a terminal; None for standard error
    """
    from rich.progress import DownloadColumn, TransferSpeedColumn  # noqa: PLC0415 - only a command that runs needs it

    with _shown((DownloadColumn(), TransferSpeedColumn()), _console(console)) as tick:
        yield tick


@contextmanager
def files_progress(console: Console | None = None) -> Iterator[Tick | None]:
    """
    Yield a function that shows how many files of records were read, and that their findings are made afterwards.

    :param console: as for ``octets_progress``
    :return: None if there is no terminal, so that nothing needs to be counted
    """
    from rich.progress import MofNCompleteColumn, TextColumn  # noqa: PLC0415 - as above

    shown_on = _console(console)
    if not shown_on.is_terminal:
        yield None
        return
    with _shown((TextColumn("records"), MofNCompleteColumn(), _rate()), shown_on) as tick:
        yield tick


@contextmanager
def _shown(columns: tuple[ProgressColumn, ...], console: Console) -> Iterator[Tick]:
    from rich.progress import BarColumn, Progress, TimeRemainingColumn  # noqa: PLC0415 - as above

    all_columns = (BarColumn(), *columns, TimeRemainingColumn(elapsed_when_finished=True))
    with Progress(*all_columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)


def _console(console: Console | None) -> Console:
    from rich.console import Console  # noqa: PLC0415 - as above

    return console or Console(stderr=True)


def _rate() -> ProgressColumn:
    from rich.progress import ProgressColumn  # noqa: PLC0415 - as above
    from rich.text import Text  # noqa: PLC0415 - as above

    class Rate(ProgressColumn):
        """Shows how many are read in a second."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text(f"{speed:,.0f}/s" if speed else "", style="progress.data.speed")

    return Rate()
