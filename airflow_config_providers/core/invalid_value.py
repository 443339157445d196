"""The error for a value that does not fit its definition."""

from __future__ import annotations

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException


class InvalidValueError(ConfigException):
    """
    Values that are not valid. It does not say where to correct them, which only the code that has read them knows.

    :ivar reason: why, in words that do not name the configuration; empty if only the message says it
    """

    reason: str = ""


def invalid_value(name: str, reason: str) -> InvalidValueError:
    """Return the error for an invalid value of ``name``; ``reason`` must not quote the value."""
    error = InvalidValueError(f"Invalid value for configuration {printable(name)}: {reason}")
    error.reason = reason
    return error
