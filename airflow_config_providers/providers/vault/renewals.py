"""When to renew logins and leases."""

from __future__ import annotations

import random
from typing import Final

LONGEST: Final = 10 * 365 * 24 * 3600
"""The longest duration in seconds; longer ones are cut to it."""


def when_to_renew(start: float, ttl: float) -> float:
    """Return a moment after about two thirds of ``ttl`` seconds, spread so that many processes do not coincide."""
    return start + ttl * random.uniform(0.6, 0.7)  # noqa: S311 - spreads load, no security


def when_to_retry(now: float, expires: float) -> float | None:
    """Return when to retry a renewal that failed; None if too little time is left."""
    left = expires - now
    return now + max(1.0, left / 4) if left > 2 else None


def seconds(duration: object) -> float:
    """Return a duration of Vault's in seconds, at most ten years; 0 for anything else."""
    if isinstance(duration, bool) or not isinstance(duration, int | float) or not duration > 0:
        return 0.0
    return float(min(duration, LONGEST))
