"""What Python does while a function is called, for tests that count calls."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable


def events_of(action: Callable[[], object]) -> list[str]:
    """
    Return the events that a profiler sees while ``action`` runs in this thread: ``call``, ``return``, ``c_call`` ...

    Nothing is collected meanwhile: what an earlier test has left behind can call functions of Python in its end.
    """
    found: list[str] = []

    def note(_frame: object, event: str, _argument: object) -> None:
        found.append(event)

    was_enabled = gc.isenabled()
    gc.disable()
    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
        if was_enabled:
            gc.enable()
    return found
