"""Progress of a command, for people who wait for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.console import Console

_PATIENCE: Final = 2.0
"""Seconds after which progress is shown."""


@contextmanager
def progress(
    total: int,
    of: str = "DAG files",
    *,
    console: Console | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Callable[[], None]]:
    """
    Yield a function that counts one. After two seconds, the number is shown, and removed at the end.

    :param of: what is counted
    :param console: where to show it, if that is a terminal; None for standard error
    """
    from rich.console import Console  # noqa: PLC0415 - only a command that runs needs these
    from rich.progress import MofNCompleteColumn, Progress, TextColumn  # noqa: PLC0415

    shown_on = console or Console(stderr=True)
    columns = (TextColumn(of), MofNCompleteColumn())
    bar = Progress(*columns, console=shown_on, transient=True, disable=not shown_on.is_terminal)
    task, start = bar.add_task("", total=total), clock()

    def tick() -> None:
        bar.advance(task)
        if clock() - start > _PATIENCE:
            bar.start()

    try:
        yield tick
    finally:
        bar.stop()
