"""Reversal of everything that this process logs and prints while it holds values."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.log.active import ActiveReversers
from airflow_config_providers.log.chains import Undo, guard_all, release_streams


class Installation:
    """The result of ``install``; ``uninstall`` ends the reversal."""

    __slots__ = ("_reverser",)

    def __init__(self, reverser: ReverseTransformer | None) -> None:
        self._reverser = reverser

    def uninstall(self) -> None:
        """Deactivate the reverser; a second call does nothing. The last active reverser takes the guards with it."""
        with _lock:
            if self._reverser is not None:
                _remove(self._reverser)
                self._reverser = None


def install(reverser: ReverseTransformer) -> Installation:
    """
    Replace values by references in what this process logs and prints.

    This covers structlog's processors, the handlers of every logger of the standard library, ``sys.stdout`` and
    ``sys.stderr``, in all threads. Call it after logging is configured and before the values can be shown. A
    reverser with nothing to hide changes nothing. This does not cover writes to file descriptors that bypass Python,
    handlers that send records unformatted, and handlers that are added later.
    """
    if not reverser:
        return Installation(None)
    with _lock:
        _active.add(reverser)
        _undo.extend(guard_all(_active))
    return Installation(reverser)


@contextmanager
def reversing(reverser: ReverseTransformer) -> Iterator[None]:
    """Install ``reverser`` for the duration of a ``with`` block."""
    installation = install(reverser)
    try:
        yield
    finally:
        installation.uninstall()


def _remove(reverser: ReverseTransformer) -> None:
    release_streams()
    _active.remove(reverser)
    if not _active:
        while _undo:
            _undo.pop()()


_lock: Final = threading.RLock()  # reentrant, since a signal handler can end a task
_active: Final = ActiveReversers()
_undo: Final[list[Undo]] = []
