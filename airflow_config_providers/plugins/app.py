"""
The REST interface: an app that Airflow's API server mounts, its routes, and the files of the page.

Airflow does not protect a mounted app, so every route names the permissions that it requires.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from pkgutil import get_data
from typing import Annotated, Any, Final

import yaml
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.core_api.security import get_user, requires_access_dag
from fastapi import APIRouter, Depends, FastAPI, Query
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from airflow_config_providers import __version__
from airflow_config_providers.deployment import records
from airflow_config_providers.deployment.differences import differences
from airflow_config_providers.deployment.records import RunChoice
from airflow_config_providers.deployment.rows import KeySelection, Row, as_json
from airflow_config_providers.plugins.permissions import (
    may_edit_stored,
    may_read_default,
    may_read_references,
    read_runs,
)
from airflow_config_providers.plugins.problems import HEADERS, Problem, ProblemRoute
from airflow_config_providers.plugins.request import (
    AskedDep,
    BodyDep,
    alteration,
    refuse_fields,
    refuse_unstorable_id,
    rolled_back,
    setting_of,
)
from airflow_config_providers.spark.key_notes import key_notes

OPENAPI_PATH: Final = "/openapi.json"

VERSION: Final = "/v1"

_LONGEST_PATTERN: Final = 2000
"""The most characters of a pattern of references."""

_MOST_KEYS: Final = 1_000_000_000
"""More keys than any configuration has, and a number that Python can count to."""

SIGNED_IN: Final = (Depends(get_user),)
READ_DEFAULT: Final = (Depends(may_read_default),)
CHANGE_DEFAULT: Final = (Depends(may_read_default), Depends(may_edit_stored))
READ_DAG: Final = (Depends(refuse_unstorable_id), Depends(requires_access_dag("GET")))
READ_TASKS: Final = (*READ_DAG, Depends(requires_access_dag("GET", DagAccessEntity.TASK)))
READ_RUNS: Final = (*READ_DAG, Depends(read_runs))
READ_REFERENCES: Final = (Depends(may_read_references),)
CHANGE_DAG: Final = (*READ_DAG, Depends(requires_access_dag("PUT")), Depends(may_edit_stored))
"""The answer to a change shows what applies now, so a change also requires permission to read."""

_WHY_NOT: Final = "/why-not"
"""Asked with POST, because servers log the addresses of requests, and a setting can hold a value."""

_TASK: Final = "/dags/{dag_id}/tasks/{task_id}"

_RESOURCES: Final[Sequence[tuple[str, Sequence[Any], Sequence[Any]]]] = (
    ("/default", READ_DEFAULT, CHANGE_DEFAULT),
    ("/dags/{dag_id}", READ_DAG, CHANGE_DAG),
    (_TASK, READ_DAG, CHANGE_DAG),
)
"""The path of each kind of resource, and the permissions to read and to change it."""

PAGE: Final = "/page"
"""The path of the page below that of the app."""

_PAGE_FILES: Final = Path(__file__).with_name("assets")

_CONTENT_POLICY: Final = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "connect-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'self'",  # Airflow shows the page in a frame, and no other site may
    "require-trusted-types-for": "'script'",  # text that is taken for HTML is an error
    "trusted-types": "'none'",
}

PAGE_HEADERS: Final = {
    "Cache-Control": "no-cache",  # asks again after an upgrade
    "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in _CONTENT_POLICY.items()),
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
"""The headers of every file: the page runs its own scripts, and sends requests to its own server only."""


@cache
def _documented() -> Mapping[str, Any]:
    """Return the bodies of requests, by the name of the function, and the answers."""
    found: Mapping[str, Any] = yaml.safe_load(get_data(__package__, "openapi.yaml") or b"")
    return found


def openapi_document(app: FastAPI, root_path: str) -> dict[str, Any]:
    """Return the description of ``app``, whose paths are below ``root_path``."""
    found = get_openapi(title=app.title, version=app.version, routes=app.routes, servers=[{"url": root_path}])
    for path in found["paths"].values():
        for operation in path.values():
            operation["responses"].pop("422", None)  # an answer to invalid input has the form of all other problems
    found.get("components", {}).pop("schemas", None)
    return found


def make_app() -> FastAPI:
    """Return the app. FastAPI's own pages about it are off, because anyone could read them."""
    app = FastAPI(
        title="airflow-config-providers",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        exception_handlers={HTTPException: _nowhere},
    )
    app.include_router(make_router())
    about = APIRouter(route_class=ProblemRoute)
    about.add_api_route(OPENAPI_PATH, about_itself, methods=["GET"], dependencies=SIGNED_IN, include_in_schema=False)
    app.include_router(about)
    app.mount(PAGE, PageFiles())
    return app


def make_router() -> APIRouter:
    """Return the routes, which are the same for each kind of resource."""
    router = APIRouter(prefix=VERSION, route_class=ProblemRoute, responses=_documented()["answers"])
    for path, reading, changing in _RESOURCES:
        _add_reading(router, path, reading)
        _add_changing(router, path, changing)
    router.add_api_route("/dags/{dag_id}/tasks", tasks, methods=["GET"], dependencies=READ_TASKS)
    router.add_api_route("/references", references, methods=["GET"], dependencies=READ_REFERENCES)
    one_run = f"{_TASK}/runs/{{run_id}}"
    router.add_api_route(f"{_TASK}/runs", runs, methods=["GET"], dependencies=READ_RUNS)
    router.add_api_route(one_run, describe_run, methods=["GET"], dependencies=READ_RUNS)
    router.add_api_route(f"{one_run}/differences", compare_run, methods=["GET"], dependencies=READ_RUNS)
    _add_with_body(router, "POST", path=f"{one_run}{_WHY_NOT}", answer=why_not_of_run, rights=READ_RUNS)
    return router


def _add_reading(router: APIRouter, path: str, rights: Sequence[Any]) -> None:
    for suffix, read in (("", describe), ("/history", history), ("/keys/{key:path}", explain)):
        router.add_api_route(f"{path}{suffix}", read, methods=["GET"], dependencies=rights)
    _add_with_body(router, "POST", path=f"{path}{_WHY_NOT}", answer=why_not, rights=rights)


def _add_changing(router: APIRouter, path: str, rights: Sequence[Any]) -> None:
    _add_with_body(router, "PATCH", path=path, answer=alter, rights=rights)
    for suffix, change in (
        ("/rollback", rollback),
        ("/refresh", refresh),
        (f"{_WHY_NOT}/dry-run", why_not_with_dry_run),
    ):
        _add_with_body(router, "POST", path=f"{path}{suffix}", answer=change, rights=rights)


def _add_with_body(router: APIRouter, method: str, *, path: str, answer: Callable[..., Response], rights: Any) -> None:
    content = {"application/json": {"schema": _documented()["bodies"][answer.__name__]}}
    extra = {"requestBody": {"required": True, "content": content}}
    router.add_api_route(path, answer, methods=[method], dependencies=rights, openapi_extra=extra)


def about_itself(request: Request) -> Response:
    """Return the description of this interface, for programs."""
    return Response(
        as_json(openapi_document(request.app, request.scope["root_path"])), 200, HEADERS, "application/json"
    )


def selection(
    keys: Annotated[list[str], Query(alias="key")] = [],  # noqa: B006 - FastAPI copies it
    notes: bool = False,
    first: Annotated[int | None, Query(ge=1, le=_MOST_KEYS)] = None,
) -> KeySelection:
    """Return the keys that the request asks for."""
    return KeySelection(keys, notes=notes, first=first)


SelectionDep = Annotated[KeySelection, Depends(selection)]


def describe(
    asked: AskedDep,
    selected: SelectionDep,
    defaults: Annotated[bool, Query(alias="all")] = False,
    synonyms: bool = False,
) -> Response:
    """Return the configuration of a resource."""
    rows = asked.configurations.describe(asked.resource, replace(selected, defaults=defaults))
    return asked.answer(rows if synonyms else _without_synonyms(rows))


def choice(
    run_id: str,
    try_number: Annotated[int | None, Query(alias="try", ge=1)] = None,
    map_index: Annotated[int | None, Query(ge=-1)] = None,
) -> RunChoice:
    """Return the try that the request names."""
    return RunChoice(run_id, try_number, map_index)


def describe_run(
    asked: AskedDep,
    chosen: Annotated[RunChoice, Depends(choice)],
    selected: SelectionDep,
    synonyms: bool = False,
) -> Response:
    """Return the configuration that one try of a task had."""
    rows = asked.configurations.describe_run(asked.resource, chosen, selected)
    return asked.answer(rows if synonyms else _without_synonyms(rows))


def tasks(asked: AskedDep) -> Response:
    """Return the tasks of a DAG."""
    return asked.answer(asked.configurations.tasks(asked.resource))


def runs(asked: AskedDep) -> Response:
    """Return the tries that have a record in the database, the last one first."""
    found = records.last_tries(asked.resource)
    return asked.answer([{"run": one.run_id, "map_index": one.map_index, "try": one.try_number} for one in found])


def references(asked: AskedDep, pattern: Annotated[str, Query(max_length=_LONGEST_PATTERN)] = "*") -> Response:
    """Return the tasks whose last job used a reference that matches ``pattern``."""
    return asked.answer(asked.configurations.references(pattern), about="the DAGs that you may read")


def compare_run(
    asked: AskedDep,
    chosen: Annotated[RunChoice, Depends(choice)],
    other: Annotated[str | None, Query(alias="with")] = None,
    other_try: Annotated[int | None, Query(alias="with_try", ge=1)] = None,
) -> Response:
    """Return how one try of a task differs from another; from what would settle now, if there is no other."""
    before = asked.configurations.describe_run(asked.resource, chosen, KeySelection())
    unread = ""
    if other is None:
        after = asked.configurations.describe(asked.resource, KeySelection())
        unread = asked.configurations.unread_files(asked.resource)
    else:
        compared = RunChoice(other, other_try, chosen.map_index)
        after = asked.configurations.describe_run(asked.resource, compared, KeySelection())
    return asked.answer(differences(before, after, unread=("", unread)))


def explain(asked: AskedDep, key: str) -> Response:
    """Return what Spark says of a key."""
    return asked.answer([{"key": key, **asdict(key_notes(key))}])


def why_not(asked: AskedDep, body: BodyDep) -> Response:
    """Return why a setting does not apply. Policies judge no value here: only a dry run asks them."""
    return asked.answer(asked.configurations.why_not(asked.resource, setting_of(body), dry_run=False))


def why_not_with_dry_run(asked: AskedDep, body: BodyDep) -> Response:
    """
    Return why a setting does not apply and, if no layer has its value, whether a change to it would be refused.

    The user needs the right to change it, as for the change itself.
    """
    return asked.answer(asked.configurations.why_not(asked.resource, setting_of(body)))


def why_not_of_run(asked: AskedDep, body: BodyDep, chosen: Annotated[RunChoice, Depends(choice)]) -> Response:
    """Return why a setting did not apply to one try of a task."""
    return asked.answer(asked.configurations.why_not(asked.resource, setting_of(body), chosen))


def _without_synonyms(rows: Sequence[Row]) -> list[Row]:
    return [{name: value for name, value in row.items() if name != "synonyms"} for row in rows]


def alter(asked: AskedDep, body: BodyDep) -> Response:
    """Change keys, and return what applies now."""
    return asked.answer(asked.configurations.alter(asked.resource, **alteration(body)))


def history(asked: AskedDep) -> Response:
    """Return the changes, newest last."""
    return asked.answer(asked.configurations.history(asked.resource))


def rollback(asked: AskedDep, body: BodyDep) -> Response:
    """Restore a version, and return what applies now."""
    return asked.answer(asked.configurations.rollback(asked.resource, **rolled_back(body)))


def refresh(asked: AskedDep, body: BodyDep) -> Response:
    """Have the values of references read again, and return the resources that this concerns."""
    refuse_fields(body)
    return asked.answer(asked.configurations.refresh(asked.resource))


async def _nowhere(request: Request, error: Exception) -> Response:
    return Problem.of(error).response()


class PageFiles(StaticFiles):
    """
    The files of the page in Airflow, with ``PAGE_HEADERS``.

    Anyone who can reach the server can load them, because they hold no data. What the page shows comes from the routes.
    """

    def __init__(self) -> None:
        super().__init__(directory=_PAGE_FILES, html=True)

    def file_response(self, *args: Any, **options: Any) -> Response:
        """Return the answer that contains a file, or that it has not changed."""
        answer = super().file_response(*args, **options)
        answer.headers.update(PAGE_HEADERS)
        return answer
