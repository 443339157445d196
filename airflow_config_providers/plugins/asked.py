"""The resource of a request, and the user who sent it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.core_api.security import GetUserDep
from fastapi import Depends
from starlette.requests import Request
from starlette.responses import Response

from airflow_config_providers import settings
from airflow_config_providers.core.alter import ConfigResource, ResourceType
from airflow_config_providers.core.text import printable
from airflow_config_providers.deployment.admin import Caller, Warn
from airflow_config_providers.deployment.configurations import Configurations
from airflow_config_providers.deployment.deployed import DeployedConfigurations
from airflow_config_providers.deployment.outcomes import NOT_FOUND
from airflow_config_providers.deployment.rows import Row, as_json
from airflow_config_providers.exceptions import UnknownResourceError
from airflow_config_providers.job.authored import AuthoredJob
from airflow_config_providers.job.deployed_task import deployed_job
from airflow_config_providers.plugins.problems import HEADERS


@dataclass(frozen=True, slots=True)
class Asked:
    """
    A request for which the user has the permission.

    :param configurations: describes and alters on behalf of the user
    :param notes: the notes for the reader
    """

    resource: ConfigResource
    configurations: Configurations
    notes: list[str] = field(default_factory=list)

    def answer(self, rows: Sequence[Row]) -> Response:
        """Return the answer that contains ``rows``."""
        content = {"resource": str(self.resource), "rows": rows, "notes": self.notes}
        return Response(as_json(content), 200, HEADERS, "application/json")


def _asked(request: Request, user: GetUserDep) -> Asked:
    notes: list[str] = []
    request.state.notes = notes  # an answer that refuses includes them too
    resource = _resource(request.path_params.get("dag_id"), request.path_params.get("task_id"))
    warn = _once(notes)
    if settings.environment_enabled():
        warn("Overrides by environment variables of the workers are not shown: the server does not have them.")
    return Asked(resource, DeployedConfigurations(warn, _caller(user)), notes)


AskedDep = Annotated[Asked, Depends(_asked)]


def _caller(user: Any) -> Caller:
    """
    Return the caller to work for.

    The files and the environment of the server hold secrets to which DAG authors have no access. An author must not be
    able to choose which of them are read, so none is.
    """

    def may_see(dag_ids: Collection[str]) -> Collection[str]:
        return get_auth_manager().get_authorized_dag_ids(user=user, method="GET") & set(dag_ids)

    return Caller(user.get_name(), environ={}, of_task=without_files, may_see=may_see)


def without_files(task: Any, name: str, warn: Warn) -> AuthoredJob | None:
    """Return the result of ``deployed_job``, without the files that the author of the task names."""
    job = deployed_job(task, name, warn)
    if job is None:
        return None
    if named := dict.fromkeys(label.partition("[")[0] for label in job.files):
        warn(f"{name}: its {' and '.join(named)} are not shown: the server does not open files that DAG authors name.")
    return replace(job, files={})


def _resource(dag_id: str | None, task_id: str | None) -> ConfigResource:
    """
    Return the resource that the URL names.

    :raises UnknownResourceError: it is not the resource for which the permission was checked
    """
    if dag_id is None:
        return ConfigResource(ResourceType.DEFAULT)
    resource = ConfigResource.of_task(dag_id, task_id) if task_id else ConfigResource(ResourceType.DAG, dag_id)
    if (resource.dag_id, resource.task_id) != (dag_id, task_id or ""):
        raise UnknownResourceError(f"There is no DAG '{printable(dag_id)}'. {NOT_FOUND}")
    return resource


def _once(notes: list[str]) -> Callable[[str], None]:
    def warn(text: str) -> None:
        if text not in notes:
            notes.append(text)

    return warn
