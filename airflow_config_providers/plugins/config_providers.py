"""The plugin. Every process of Airflow imports it, so it imports what only the API server needs on request."""

from __future__ import annotations

import logging
from functools import cached_property
from typing import Any, Final

from airflow.plugins_manager import AirflowPlugin

PREFIX: Final = "/config-providers"
"""The path of the REST interface and of the page in the API server."""

_PAGE: Final = f"{PREFIX.removeprefix('/')}/page/"
"""The page, relative to the address of Airflow's UI, which can have a path of its own."""

_SHOWN: Final = {
    "nav": "",
    "dag": "?dag={DAG_ID}",
    "task": "?dag={DAG_ID}&task={TASK_ID}",
    "task_instance": "?dag={DAG_ID}&task={TASK_ID}&run={RUN_ID}&map={MAP_INDEX}",
}
"""Where Airflow's UI has the page, and the query that says what to show. Airflow encodes what it fills in."""

_log = logging.getLogger(__name__)


class ConfigProvidersPlugin(AirflowPlugin):
    """The plugin that adds the REST interface and the page to Airflow's API server."""

    name = "config_providers"

    external_views: list[Any] = [  # noqa: RUF012 - Airflow wants a list
        {
            "name": "Configuration",
            "href": f"{_PAGE}{query}",
            "destination": destination,
            "category": "browse" if destination == "nav" else None,
            "url_route": f"configuration-{destination.replace('_', '-')}",
        }
        for destination, query in _SHOWN.items()
    ]

    @cached_property
    def fastapi_apps(self) -> list[Any]:  # type: ignore[override]  # Airflow only reads it
        """The app. If it cannot be made, the list is empty and the reason is logged, so that the API server starts."""
        try:
            from airflow_config_providers.plugins.app import make_app  # noqa: PLC0415 - heavy, see above

            return [{"app": make_app(), "url_prefix": PREFIX, "name": "Config Providers"}]
        except Exception:  # noqa: BLE001 - no error may take the API server down
            _log.exception("The REST interface of airflow-config-providers is not available: it cannot be created.")
        return []
