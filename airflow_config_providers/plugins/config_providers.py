"""The plugin. Every process of Airflow imports this, so what the API server alone needs is imported when it asks."""

from __future__ import annotations

import logging
from functools import cached_property
from typing import Any, Final

from airflow.plugins_manager import AirflowPlugin

PREFIX: Final = "/config-providers"
"""Where the API server has the REST interface."""

_log = logging.getLogger(__name__)


class ConfigProvidersPlugin(AirflowPlugin):
    """Brings the REST interface into Airflow's API server."""

    name = "config_providers"

    @cached_property
    def fastapi_apps(self) -> list[Any]:  # type: ignore[override]  # Airflow reads it, and never writes it
        """The app; none, and a line in the log, where it cannot be made: the API server starts all the same."""
        try:
            from airflow_config_providers.plugins.app import make_app  # noqa: PLC0415 - heavy, see above

            return [{"app": make_app(), "url_prefix": PREFIX, "name": "Config Providers"}]
        except Exception:  # noqa: BLE001 - whatever it is, it must not take the API server down
            _log.exception("The REST interface of airflow-config-providers cannot be made, so it is not there.")
        return []
