"""The plugin. Every process of Airflow imports it, so it imports what only the API server needs on request."""

from __future__ import annotations

import logging
from functools import cached_property
from typing import Any, Final

from airflow.plugins_manager import AirflowPlugin

PREFIX: Final = "/config-providers"
"""The path of the REST interface in the API server."""

_log = logging.getLogger(__name__)


class ConfigProvidersPlugin(AirflowPlugin):
    """The plugin that adds the REST interface to Airflow's API server."""

    name = "config_providers"

    @cached_property
    def fastapi_apps(self) -> list[Any]:  # type: ignore[override]  # Airflow only reads it
        """The app. If it cannot be made, the list is empty and the reason is logged, so that the API server starts."""
        try:
            from airflow_config_providers.plugins.app import make_app  # noqa: PLC0415 - heavy, see above

            return [{"app": make_app(), "url_prefix": PREFIX, "name": "Config Providers"}]
        except Exception:  # noqa: BLE001 - no error may take the API server down
            _log.exception("The REST interface of airflow-config-providers is not available: it cannot be created.")
        return []
