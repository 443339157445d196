"""What a request asks for: its resource, the user who sent it, and its body, which is safe to read."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.core_api.security import GetUserDep
from fastapi import Depends, HTTPException
from fastapi.dependencies.models import Dependant
from starlette.requests import Request
from starlette.responses import Response

from airflow_config_providers import settings
from airflow_config_providers.airflow_compat import conf
from airflow_config_providers.core.resource import ConfigResource, ResourceType
from airflow_config_providers.core.text import is_storable, printable, reporting_once
from airflow_config_providers.deployment.admin import Caller
from airflow_config_providers.deployment.configurations import DeployedConfigurations
from airflow_config_providers.deployment.failures import NOT_FOUND
from airflow_config_providers.deployment.rows import Row, as_json
from airflow_config_providers.exceptions import MalformedRequestError, UnknownResourceError, refuse
from airflow_config_providers.job.authored_job import AuthoredJob
from airflow_config_providers.job.deployed_task import Warn, deployed_job
from airflow_config_providers.job.nested_texts import field_of
from airflow_config_providers.plugins.body import unknown_names
from airflow_config_providers.plugins.permissions import is_granted, read_runs, visible_runs
from airflow_config_providers.plugins.problems import HEADERS

LONGEST_BODY: Final = 4 * 1024 * 1024
"""The most bytes in a body. A change of the largest configuration that is stored fits, however it is escaped."""


@dataclass(frozen=True, slots=True)
class Asked:
    """
    A request for which the user has the permission.

    :param configurations: describes and alters on behalf of the user
    :param notes: the notes for the reader
    """

    resource: ConfigResource
    configurations: DeployedConfigurations
    notes: list[str] = field(default_factory=list)

    def answer(self, rows: Sequence[Row], about: str = "") -> Response:
        """Return the answer that contains ``rows``; ``about`` replaces the name of the resource."""
        content = {"resource": about or str(self.resource), "rows": rows, "notes": self.notes}
        return Response(as_json(content), 200, HEADERS, "application/json")


def _asked(request: Request, user: GetUserDep) -> Asked:
    notes: list[str] = []
    request.state.notes = notes  # an answer that refuses includes them too
    known = _parameters(request.scope["route"].dependant)
    refuse(MalformedRequestError, unknown_names(request.query_params, known, "parameter"))
    resource = _resource(request.path_params.get("dag_id"), request.path_params.get("task_id"))
    warn = reporting_once(notes.append)
    if settings.environment_enabled():
        warn("Overrides by environment variables of the workers are not shown: the server does not have them.")
    return Asked(resource, DeployedConfigurations(warn, _caller(request, user)), notes)


AskedDep = Annotated[Asked, Depends(_asked)]


def _parameters(dependant: Dependant) -> set[str]:
    """Return the names of the parameters that a route takes from the query, with those of its dependencies."""
    names = {parameter.alias for parameter in dependant.query_params}
    return names.union(*map(_parameters, dependant.dependencies))


def _caller(request: Request, user: Any) -> Caller:
    """
    Return the caller to work for.

    The files and the environment of the server hold secrets to which DAG authors have no access. An author must not be
    able to choose which of them are read, so none is.
    """

    def may_see(dag_ids: Collection[str]) -> Collection[str]:
        return get_auth_manager().get_authorized_dag_ids(user=user, method="GET") & set(dag_ids)

    return Caller(
        user.get_name(),
        {},
        without_files,
        may_see,
        may_see_runs=lambda: is_granted(read_runs, request, user),
        may_see_runs_of=lambda dag_ids: set(visible_runs(request, user, may_see(dag_ids))),
    )


def without_files(task: Any, name: str, warn: Warn) -> AuthoredJob | None:
    """Return the result of ``deployed_job``, without the files that the author of the task names."""
    job = deployed_job(task, name, warn)
    if job is None:
        return None
    if named := dict.fromkeys(map(field_of, job.files)):
        warn(
            f"{name}: its {' and '.join(named)} are not shown: the server does not open files that DAG authors name. "
            "Run airflow config-providers describe on a worker to see them."
        )
    return replace(job, files={})


def _resource(dag_id: str | None, task_id: str | None) -> ConfigResource:
    """
    Return the resource that the URL names.

    :raises UnknownResourceError: it is not the resource for which the permission was checked
    """
    if dag_id is None:
        return ConfigResource(ResourceType.DEFAULT)
    if not is_storable(task_id or ""):
        raise UnknownResourceError(f"DAG '{printable(dag_id)}' has no task '{printable(task_id or '')}'. {NOT_FOUND}")
    resource = ConfigResource.of_task(dag_id, task_id) if task_id else ConfigResource(ResourceType.DAG, dag_id)
    if (resource.dag_id, resource.task_id) != (dag_id, task_id or ""):
        raise _no_dag(dag_id)
    return resource


def refuse_unstorable_id(request: Request, user: GetUserDep) -> None:
    """
    Refuse the id of a DAG that no database can have, before Airflow searches its database for it.

    :param user: is not used; with it, FastAPI first makes sure that the user is signed in
    :raises UnknownResourceError: it is such an id
    """
    dag_id = request.path_params.get("dag_id", "")
    if not is_storable(dag_id):
        raise _no_dag(dag_id)


def _no_dag(dag_id: str) -> UnknownResourceError:
    return UnknownResourceError(f"There is no DAG '{printable(dag_id)}'. {NOT_FOUND}")


async def _checked_body(request: Request) -> Mapping[str, Any]:
    """
    Return the body of a request whose permissions were checked before.

    :raises HTTPException: the body is too long or compressed, or its type is not JSON
    :raises MalformedRequestError: it is not a JSON object, the request comes from a page of another site, or it has a
        condition in its headers
    """
    _refuse_other_sites(request)
    _refuse_ignored(request.headers)
    content = _parsed(await _read(request))
    if not isinstance(content, dict):
        raise MalformedRequestError("The body is not a JSON object, or contains a name twice. Correct it.")
    return content


BodyDep = Annotated[Mapping[str, Any], Depends(_checked_body)]


def _refuse_other_sites(request: Request) -> None:
    """Refuse requests that a page of another site can make a browser send, with the cookie of its user."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, "The body must be JSON, with the Content-Type application/json")
    if not _is_of_this_site(request.headers):
        raise MalformedRequestError(
            "Changes from a page of another site are not accepted. If this is the page of Airflow, behind a proxy, set "
            "[api] base_url to the address that browsers use."
        )


def _refuse_ignored(headers: Mapping[str, str]) -> None:
    """Refuse headers that would be ignored although they change what the request means."""
    if headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise HTTPException(415, "A body with a Content-Encoding is not read. Send it as it is, without the header")
    if found := [name for name in ("If-Match", "If-None-Match") if name in headers]:
        raise MalformedRequestError(
            f"{' and '.join(found)} would be ignored. Remove it; to change only what you saw, send its version as "
            f"'if_version' in the body."
        )


def _is_of_this_site(headers: Mapping[str, str]) -> bool:
    """Return whether a request is from a page of this server, or from no page."""
    if "sec-fetch-site" in headers:  # which browsers leave out over plain HTTP
        return headers["sec-fetch-site"] in {"none", "same-origin"}
    origin = headers.get("origin")
    if origin is None:
        return True
    asked = f"{origin.partition('://')[0]}://{headers.get('host', '')}"  # some proxies write the default port, too
    own = {_host_and_port(url) for url in (asked, str(conf.get("api", "base_url", fallback="")))}
    return _host_and_port(origin) in own - {""}


def _host_and_port(url: str) -> str:
    """Return the host of a URL with its port, without a default one; empty if there is no host, as in ``null``."""
    scheme, _, rest = url.strip().lower().partition("://")
    return rest.partition("/")[0].removesuffix(":443" if scheme == "https" else ":80")


async def _read(request: Request) -> bytes:
    content = bytearray()
    async for part in request.stream():
        content += part
        if len(content) > LONGEST_BODY:
            raise HTTPException(413, f"The body is longer than {LONGEST_BODY} bytes. Split it into several changes")
    return bytes(content)


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content, object_pairs_hook=_once_each)
    except (ValueError, RecursionError):  # the error quotes the body
        return None


def _once_each(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found
