"""Keys that decide who can ask a driver for its configuration."""

from __future__ import annotations

from typing import Final

MASTER: Final = "spark.master"

AUTHENTICATE_KEY: Final = "spark.authenticate"


def closes_ports(value: object) -> bool:
    """Return whether a value of ``spark.authenticate`` closes the ports of a driver."""
    return str(value).strip().lower() == "true"
