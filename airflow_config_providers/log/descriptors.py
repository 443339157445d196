"""Standard output and standard error below Python, where a child writes that inherits them."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Final

from airflow_config_providers.core.reverse import ReverseTransformer
from airflow_config_providers.core.stream import reverse_chunks

_LARGEST: Final = 64 * 1024
"""Octets that are read at a time."""

_PATIENCE: Final = 0.5
"""Seconds to wait for what was written last; a child that goes on may write more, and is not waited for."""


@contextmanager
def guarded_descriptors(reverser: ReverseTransformer) -> Iterator[None]:
    """
    Have what this process and its children write to file descriptors 1 and 2 show references.

    What is started meanwhile, such as a JVM, stays guarded when the block is left, as long as this process lives. It is
    the whole process that is guarded, so one such block at a time.
    """
    with ExitStack() as stack:
        for descriptor in (1, 2) if reverser else ():
            stack.enter_context(_guarded(descriptor, reverser))
        yield


@contextmanager
def _guarded(descriptor: int, reverser: ReverseTransformer) -> Iterator[None]:
    try:
        outside = os.dup(descriptor)
    except OSError:  # closed, so nobody sees it
        yield
        return
    _flush()
    pump = threading.Thread(target=_pump, args=(_entered(descriptor), outside, reverser), daemon=True)
    pump.start()
    try:
        yield
    finally:
        _flush()
        os.dup2(outside, descriptor)
        pump.join(_PATIENCE)


def _entered(descriptor: int) -> int:
    """Put a pipe in place of ``descriptor``, and give its other end."""
    inside, entrance = os.pipe()
    os.dup2(entrance, descriptor)
    os.close(entrance)
    return inside


def _pump(inside: int, outside: int, reverser: ReverseTransformer) -> None:
    with open(inside, "rb", buffering=0) as source, open(outside, "wb") as target:
        for piece in reverse_chunks(iter(lambda: source.read(_LARGEST), b""), (reverser,)):
            with suppress(OSError):  # nobody reads it any more; whoever writes must not wait for that
                target.write(piece)
                target.flush()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # closed meanwhile
            stream.flush()
