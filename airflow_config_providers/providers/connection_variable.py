"""Environment variables that define Airflow connections."""

from __future__ import annotations

import os
from collections.abc import Mapping

from airflow_config_providers.core import document
from airflow_config_providers.exceptions import ConfigException

_PREFIX = "AIRFLOW_CONN_"


def ids_of_variables(environ: Mapping[str, str] = os.environ) -> list[str]:
    """Return the ids of all connections that variables define, in lower case."""
    return [name.removeprefix(_PREFIX).lower() for name in environ if name.startswith(_PREFIX)]


def broken_variable(conn_id: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """
    Return where the JSON of the variable breaks, without its content; None if it does not break.

    Airflow ignores such a variable, and then has no such connection.
    """
    name = f"{_PREFIX}{conn_id.upper()}"
    text = environ.get(name, "").strip()
    if not text.startswith("{"):
        return None
    try:
        document.parse(text)
    except ConfigException as error:
        return f"The environment variable {name} does not define a connection. {error} Correct the variable."
    return None
