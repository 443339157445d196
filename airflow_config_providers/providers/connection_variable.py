"""The environment variable that defines a connection of Airflow's."""

from __future__ import annotations

import os
from collections.abc import Mapping

from airflow_config_providers.core import document
from airflow_config_providers.exceptions import ConfigException

_PREFIX = "AIRFLOW_CONN_"


def broken_variable(conn_id: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """
    Say where the JSON of the variable breaks, and never what stands there; None where it does not break.

    Airflow passes over such a variable, and then has no such connection.
    """
    name = f"{_PREFIX}{conn_id.upper()}"
    text = environ.get(name, "").strip()
    if not text.startswith("{"):
        return None
    try:
        document.parse(text)
    except ConfigException as error:
        return f"The environment variable {name} defines no connection. {error} Correct the variable."
    return None
