"""Standard output and standard error as file descriptors, to which child processes write."""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import BinaryIO, Final

from airflow_config_providers.core.concurrency.per_process import forget_in_children, hold_forks
from airflow_config_providers.core.reversal.active_reversers import ActiveReversers
from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.log.reversing_guards import GuardedStream

_LARGEST: Final = 64 * 1024
"""The most bytes to read at a time."""

_PATIENCE: Final = 0.5
"""Seconds to wait for the last output. A child that keeps running can write more later; this does not wait for it."""


@contextmanager
def guarded_descriptors(reverser: ReverseTransformer) -> Iterator[None]:
    """
    Show references in what this process and its children write to file descriptors 1 and 2.

    Blocks can follow each other, nest, and overlap in several threads: the descriptors belong to the whole process, so
    each block reverses the values of all. The output of a child that was started in a block, such as a JVM, is reversed
    after the block, too, for as long as this process lives. It is also reversed for the values of later blocks, since
    the child can work for them. Values are reversed until their reverser forgets them.

    :raises OSError: too many files are open; the block does not begin
    :raises RuntimeError: no thread can be started; the block does not begin
    """
    if not reverser:
        yield
        return
    block = _process.enter(reverser)
    try:
        yield
    finally:
        _process.leave(block)


class _Process:
    """The two descriptors of this process. The first block that starts guards them, the last that ends frees them."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # reentrant, since a signal handler can fork
        self._active = ActiveReversers()
        self.forget()
        hold_forks(self._lock)
        forget_in_children(self)

    def forget(self) -> None:
        """Begin, also in a forked child: blocks and pumps are its parent's, whose pumps do not know its values."""
        self._blocks: set[object] = set()
        self._guards = ExitStack()
        self._pumps: list[threading.Thread] = []

    def enter(self, reverser: ReverseTransformer) -> object:
        """Begin a block, and return what ends it; after an error, everything is as before."""
        block = object()
        with self._lock:
            self._active.prune()
            self._active.add(reverser)
            try:
                self._guard_all()
            except BaseException:
                self._active.remove(reverser)
                raise
            self._blocks.add(block)
        return block

    def leave(self, block: object) -> None:
        """End a block. In a forked child, a block that began in its parent goes on, and so do the parent's guards."""
        with self._lock:
            self._blocks.discard(block)
            ending = [] if self._blocks else self._pumps
            if not self._blocks:
                self._guards.close()
        join_all(ending, _PATIENCE)  # also those of earlier blocks, whose children keep their pipes

    def _guard_all(self) -> None:
        if self._blocks:
            return
        self._pumps = [pump for pump in self._pumps if pump.is_alive()]
        with ExitStack() as guards:
            for descriptor in (1, 2):
                self._guard(descriptor, guards)
            self._guards = guards.pop_all()

    def _guard(self, descriptor: int, guards: ExitStack) -> None:
        outside = _copy(descriptor)
        if outside is None:
            return
        _flush()
        with ExitStack() as unused:
            unused.enter_context(outside)
            inside, entrance = _pipe()
            unused.enter_context(inside)
            with entrance:
                self._start_pump(inside, outside)
                unused.pop_all()  # the pump closes them when no process has the entrance any longer
                os.dup2(entrance.fileno(), descriptor)
        guards.callback(_restore, descriptor, outside)

    def _start_pump(self, inside: BinaryIO, outside: BinaryIO) -> None:
        pump = threading.Thread(target=pass_on, args=(inside, outside, self._active), daemon=True)
        pump.start()
        self._pumps.append(pump)


_process: Final = _Process()


def _copy(descriptor: int) -> BinaryIO | None:
    """Return a copy of ``descriptor`` to write to; None if it is closed, so that it shows nothing."""
    try:
        return os.fdopen(os.dup(descriptor), "wb")
    except OSError as error:
        if error.errno != errno.EBADF:
            raise
        return None


def _pipe() -> tuple[BinaryIO, BinaryIO]:
    inside, entrance = os.pipe()
    return os.fdopen(inside, "rb", buffering=0), os.fdopen(entrance, "wb", buffering=0)


def _restore(descriptor: int, outside: BinaryIO) -> None:
    _flush()
    with suppress(OSError, ValueError):  # closed in the block, which then ends the pump
        os.dup2(outside.fileno(), descriptor)


def join_all(threads: Iterable[threading.Thread], seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
    """Wait until ``threads`` have ended, for ``seconds`` at most, however many there are."""
    end = clock() + seconds
    for thread in threads:
        thread.join(max(0.0, end - clock()))


def pass_on(inside: BinaryIO, outside: BinaryIO, active: ActiveReversers) -> None:
    """Write what ``inside`` has to ``outside`` until it ends, with references in place of values; close both."""
    with inside, outside:
        guarded = GuardedStream(outside, active, line_end=b"\n")
        while piece := inside.read(_LARGEST):
            with suppress(Exception):  # no longer read, or not reversed: lost, but the writer must not block
                guarded.write(piece)
                outside.flush()
        with suppress(Exception):
            guarded.flush()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # closed meanwhile
            if stream is not None:  # it was open when Python started
                stream.flush()
