"""The history of dynamic configuration, for commands that name who changed something."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_config_providers.cli.failing import Notes
from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.deployment.rows import Row
from airflow_config_providers.exceptions import ConfigProvidersError

if TYPE_CHECKING:
    from airflow_config_providers.deployment.configurations import Configurations


def known_history(found: Configurations, notes: Notes, resource: ConfigResource) -> list[Row]:
    """Return the changes of ``resource``; with a note, none if they cannot be read."""
    try:
        return found.history(resource)
    except ConfigProvidersError as error:
        problem = " ".join(error.problems)
    notes(f"Who changed {resource} is not shown. {problem}")
    return []
