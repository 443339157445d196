"""Where an error was raised, as messages show it."""

from __future__ import annotations

import traceback


def raised_at(error: BaseException) -> str:
    """Return file and line of the last frame of an error that was caught."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{last.filename}:{last.lineno}"
