"""The clock for what ends elsewhere, such as a lease of a server."""

from __future__ import annotations

import time
from typing import Final

_CLOCK: Final[int] = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def seconds_since_boot() -> float:
    """Return seconds that never go back; on Linux, they go on while the machine is suspended, as a server's do."""
    return time.clock_gettime(_CLOCK)
