"""
The permissions that the REST interface requires, which Airflow's auth manager checks.

A user who lacks one gets a ``ForbiddenError``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import (
    ConfigurationDetails,
    DagAccessEntity,
    VariableDetails,
)
from airflow.api_fastapi.core_api.security import GetUserDep, requires_access_dag
from fastapi import HTTPException
from starlette.requests import Request

from airflow_config_providers import settings
from airflow_config_providers.core.resource import ConfigResource, ResourceType
from airflow_config_providers.core.text import printable
from airflow_config_providers.dynamic.document import DEPLOYMENT, name_of
from airflow_config_providers.exceptions import ForbiddenError

read_runs: Final = requires_access_dag("GET", DagAccessEntity.TASK_INSTANCE)
"""Refuses users without permission to read task instances, whose state contains the records."""


def may_read_default(user: GetUserDep) -> None:
    """
    Allow users with permission to read the configuration of Airflow.

    :raises ForbiddenError: the user lacks this permission
    """
    # Not Airflow's own dependency, which takes the section from the query, and so from the user.
    details = ConfigurationDetails(section=settings.SECTION)
    is_allowed = get_auth_manager().is_authorized_configuration(method="GET", details=details, user=user)
    _require(is_allowed, f"read the section '{settings.SECTION}' of Airflow's configuration")


def may_edit_stored(request: Request, user: GetUserDep) -> None:
    """
    Allow users with permission to edit the variable that stores the configuration, who could change it anyway.

    Without this check, permission to pause a DAG would be permission to load code into its jobs. The variable belongs
    to no team, also that of a team's DAG, so the auth manager is asked about one without a team.

    :raises ForbiddenError: the user lacks this permission
    """
    dag_id = request.path_params.get("dag_id", "")  # a parameter would come from the query if the path had none
    name = name_of(ConfigResource(ResourceType.DAG, dag_id) if dag_id else DEPLOYMENT)
    is_allowed = get_auth_manager().is_authorized_variable(method="PUT", details=VariableDetails(key=name), user=user)
    _require(is_allowed, f"edit Airflow's variable '{printable(name)}'")


def may_read_references(request: Request, user: GetUserDep) -> None:
    """
    Allow users with permission to read the task instances of all DAGs, or of any. The answer has those of no others.

    :raises ForbiddenError: the user may read none
    """
    # Not Airflow's own dependency, which takes the DAG from the query, and so from the user.
    manager = get_auth_manager()
    is_allowed = manager.is_authorized_dag(method="GET", access_entity=DagAccessEntity.TASK_INSTANCE, user=user)
    if not is_allowed:
        readable = manager.get_authorized_dag_ids(user=user, method="GET")
        is_allowed = next(visible_runs(request, user, readable), None) is not None
    _require(is_allowed, "read the task instances of a DAG")


def _require(is_allowed: bool, what: str) -> None:
    if not is_allowed:
        raise ForbiddenError(f"You do not have permission to {what}. Ask for it.")


def visible_runs(request: Request, user: Any, dag_ids: Iterable[str]) -> Iterator[str]:
    """Yield those of ``dag_ids`` whose task instances the user may read."""
    for dag_id in dag_ids:
        if is_granted(requires_access_dag("GET", DagAccessEntity.TASK_INSTANCE, dag_id), request, user):
            yield dag_id


def is_granted(check: Callable[[Request, Any], object], request: Request, user: Any) -> bool:
    """Return whether ``check`` lets the user pass."""
    try:
        check(request, user)
    except HTTPException:
        return False
    return True
