"""
The permissions that routes require, checked with Airflow's auth manager.

A mounted app is not protected by Airflow, so every route names one of these.
"""

from __future__ import annotations

from typing import Final

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import ConfigurationDetails, VariableDetails
from airflow.api_fastapi.core_api.security import GetUserDep, requires_access_dag
from fastapi import Depends
from starlette.requests import Request

from airflow_config_providers import settings
from airflow_config_providers.core.alter import ConfigResource, ResourceType
from airflow_config_providers.core.text import printable
from airflow_config_providers.dynamic.document import DEPLOYMENT, name_of
from airflow_config_providers.exceptions import ForbiddenError


def may_read_default(user: GetUserDep) -> None:
    """
    Allow users who may read the configuration of Airflow.

    :raises ForbiddenError: the user lacks this permission
    """
    # Not Airflow's own dependency, which takes the section from the query, and so from the user.
    details = ConfigurationDetails(section=settings.SECTION)
    is_allowed = get_auth_manager().is_authorized_configuration(method="GET", details=details, user=user)
    _require(is_allowed, f"read the section '{settings.SECTION}' of Airflow's configuration")


def may_edit_stored(request: Request, user: GetUserDep) -> None:
    """
    Allow users who may edit the variable that stores the configuration, and so can change it anyway.

    Without this check, permission to pause a DAG would be permission to load code into its jobs.

    :raises ForbiddenError: the user lacks this permission
    """
    dag_id = request.path_params.get("dag_id", "")  # a parameter would come from the query if the path had none
    name = name_of(ConfigResource(ResourceType.DAG, dag_id) if dag_id else DEPLOYMENT)
    is_allowed = get_auth_manager().is_authorized_variable(method="PUT", details=VariableDetails(key=name), user=user)
    _require(is_allowed, f"edit Airflow's variable '{printable(name)}'")


def _require(is_allowed: bool, what: str) -> None:
    if not is_allowed:
        raise ForbiddenError(f"You do not have permission to {what}. Ask for it.")


READ_DEFAULT: Final = (Depends(may_read_default),)
CHANGE_DEFAULT: Final = (Depends(may_read_default), Depends(may_edit_stored))
READ_DAG: Final = (Depends(requires_access_dag("GET")),)
CHANGE_DAG: Final = (*READ_DAG, Depends(requires_access_dag("PUT")), Depends(may_edit_stored))
"""The answer to a change shows what applies now, so a change also requires permission to read."""
