"""Children that a test forks."""

from __future__ import annotations

import os
from collections.abc import Callable


def in_child(function: Callable[[], object]) -> str:
    """Return the result of ``function`` in a forked child."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(write, str(function()).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    return text
