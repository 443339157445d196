"""Keys that decide who can ask a driver for its configuration."""

from __future__ import annotations

from typing import Final

MASTER: Final = "spark.master"

AUTHENTICATE_KEY: Final = "spark.authenticate"

SECRET_KEY: Final = "spark.authenticate.secret"  # noqa: S105 - the name of a key
"""The key of what the processes of a cluster know of each other."""


def closes_ports(value: object) -> bool:
    """Return whether a value of ``spark.authenticate`` closes the ports of a driver."""
    return str(value).strip().lower() == "true"
