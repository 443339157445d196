"""Standard output and standard error as file descriptors, to which child processes write."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Final

from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.log.guards import ActiveReversers, GuardedStream

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
    """
    if not reverser:
        yield
        return
    _process.enter(reverser)
    try:
        yield
    finally:
        _process.leave()


class _Process:
    """The two descriptors of this process. The first block that starts guards them, the last that ends frees them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._active = ActiveReversers()
        self._blocks = 0
        self._guards = ExitStack()
        self._pumps: list[threading.Thread] = []

    def enter(self, reverser: ReverseTransformer) -> None:
        with self._lock:
            for forgotten in [each for each in self._active.reversers if not each]:
                self._active.remove(forgotten)
            self._active.add(reverser)
            self._blocks += 1
            if self._blocks == 1:
                for descriptor in (1, 2):
                    self._guard(descriptor)

    def leave(self) -> None:
        with self._lock:
            self._blocks -= 1
            if self._blocks == 0:
                self._guards.close()
                self._wait()

    def _guard(self, descriptor: int) -> None:
        try:
            outside = os.dup(descriptor)
        except OSError:  # the descriptor is closed, so it shows nothing
            return
        _flush()
        pump = threading.Thread(target=_pump, args=(_entered(descriptor), outside, self._active), daemon=True)
        pump.start()
        self._pumps.append(pump)
        self._guards.callback(_left, descriptor, outside)

    def _wait(self) -> None:
        """Wait for the last output, including that of children of earlier blocks, which keep their own pipes."""
        for pump in self._pumps:
            pump.join(_PATIENCE)
        self._pumps = [pump for pump in self._pumps if pump.is_alive()]


_process: Final = _Process()


def _entered(descriptor: int) -> int:
    """Replace ``descriptor`` by a pipe, and return the end to read from."""
    inside, entrance = os.pipe()
    os.dup2(entrance, descriptor)
    os.close(entrance)
    return inside


def _left(descriptor: int, outside: int) -> None:
    """Restore ``descriptor``."""
    _flush()
    os.dup2(outside, descriptor)


def _pump(inside: int, outside: int, active: ActiveReversers) -> None:
    with open(inside, "rb", buffering=0) as source, open(outside, "wb") as target:
        guarded = GuardedStream(target, active, line_end=b"\n")
        while piece := source.read(_LARGEST):
            with suppress(OSError):  # the output is no longer read, but the writer must not block
                guarded.write(piece)
                target.flush()
        with suppress(OSError):
            guarded.flush()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # closed meanwhile
            stream.flush()
