"""What a request is about, and for whom."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Annotated, Any, Final

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
from airflow_config_providers.deployment.deployed_task import deployed_task
from airflow_config_providers.deployment.outcomes import NOT_FOUND
from airflow_config_providers.deployment.rows import Row, as_json
from airflow_config_providers.exceptions import UnknownResourceError
from airflow_config_providers.plugins.problems import HEADERS

_FILES: Final = ("config_files", "properties_file")
"""The arguments of a task that name files."""


@dataclass(frozen=True, slots=True)
class Asked:
    """
    A request that its user has the right to.

    :param configurations: does what is asked, in the name of the user
    :param notes: what a reader should know
    """

    resource: ConfigResource
    configurations: Configurations
    notes: list[str] = field(default_factory=list)

    def answer(self, rows: Sequence[Row]) -> Response:
        """Answer with ``rows``."""
        content = {"resource": str(self.resource), "rows": rows, "notes": self.notes}
        return Response(as_json(content), 200, HEADERS, "application/json")


def _asked(request: Request, user: GetUserDep) -> Asked:
    notes: list[str] = []
    request.state.notes = notes  # an answer that refuses tells them too
    resource = _resource(request.path_params.get("dag_id"), request.path_params.get("task_id"))
    warn = _once(notes)
    if settings.environment_enabled():
        warn("What environment variables of the workers override is not shown: the server does not have them.")
    return Asked(resource, DeployedConfigurations(warn, _caller(user)), notes)


AskedDep = Annotated[Asked, Depends(_asked)]


def _caller(user: Any) -> Caller:
    """
    Give whom to work for.

    The server's own files and environment hold secrets that DAG authors have no access to. They may not choose what of
    these is looked at, so neither is.
    """

    def may_see(dag_ids: Collection[str]) -> Collection[str]:
        return get_auth_manager().get_authorized_dag_ids(user=user, method="GET") & set(dag_ids)

    return Caller(user.get_name(), environ={}, of_task=without_files, may_see=may_see)


def without_files(task: Any, name: str, warn: Warn) -> Any | None:
    """Give what ``deployed_task`` gives, without the files that the author of the task names."""
    found = deployed_task(task, name, warn)
    if found is None:
        return None
    fields = vars(found)
    if named := [field for field in _FILES if fields.get(field)]:
        warn(f"{name}: what its {' and '.join(named)} set is not shown: the server does not open files of DAG authors.")
    return SimpleNamespace(**{field: value for field, value in fields.items() if field not in _FILES})


def _resource(dag_id: str | None, task_id: str | None) -> ConfigResource:
    """
    Give what the address names.

    :raises UnknownResourceError: it names another resource than the one that the user's right was looked up for
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
