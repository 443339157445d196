"""The REST interface: an app that Airflow's API server mounts, but does not protect, and its routes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final

from fastapi import APIRouter, FastAPI, Query
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from airflow_config_providers import __version__
from airflow_config_providers.deployment.rows import Selection
from airflow_config_providers.plugins.problems import Problem, ProblemRoute
from airflow_config_providers.plugins.request import Alteration, AskedDep, BodyDep, Return
from airflow_config_providers.plugins.rights import CHANGE_DAG, CHANGE_DEFAULT, READ_DAG, READ_DEFAULT

VERSION: Final = "/v1"

_RESOURCES: Final[Sequence[tuple[str, Sequence[Any], Sequence[Any]]]] = (
    ("/default", READ_DEFAULT, CHANGE_DEFAULT),
    ("/dags/{dag_id}", READ_DAG, CHANGE_DAG),
    ("/dags/{dag_id}/tasks/{task_id}", READ_DAG, CHANGE_DAG),
)
"""The path of each kind of resource, and the permissions to read and to change it."""


def make_app() -> FastAPI:
    """Return the app. It has no pages about itself: everybody could read them."""
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
    return app


def make_router() -> APIRouter:
    """Return the routes, which are the same for each kind of resource."""
    router = APIRouter(prefix=VERSION, route_class=ProblemRoute)
    for path, reading, changing in _RESOURCES:
        router.add_api_route(path, describe, methods=["GET"], dependencies=reading)
        router.add_api_route(path, alter, methods=["PATCH"], dependencies=changing)
        router.add_api_route(f"{path}/history", history, methods=["GET"], dependencies=reading)
        router.add_api_route(f"{path}/rollback", rollback, methods=["POST"], dependencies=changing)
    return router


def describe(
    asked: AskedDep,
    keys: Annotated[list[str], Query(alias="key")] = [],  # noqa: B006 - FastAPI copies it
    defaults: Annotated[bool, Query(alias="all")] = False,
    synonyms: bool = False,
) -> Response:
    """Return the configuration of a resource."""
    rows = asked.configurations.describe(asked.resource, Selection(keys, defaults))
    if not synonyms:
        rows = [{name: value for name, value in row.items() if name != "synonyms"} for row in rows]
    return asked.answer(rows)


def alter(asked: AskedDep, body: BodyDep) -> Response:
    """Change keys, and return what applies now."""
    wanted = Alteration.of(body)
    done = asked.configurations.alter(
        asked.resource, wanted.operations, validate_only=wanted.validate_only, if_version=wanted.if_version
    )
    return asked.answer(done)


def history(asked: AskedDep) -> Response:
    """Return the changes, newest last."""
    return asked.answer(asked.configurations.history(asked.resource))


def rollback(asked: AskedDep, body: BodyDep) -> Response:
    """Restore a version, and return what applies now."""
    wanted = Return.of(body)
    done = asked.configurations.rollback(
        asked.resource, to_version=wanted.to_version, validate_only=wanted.validate_only
    )
    return asked.answer(done)


async def _nowhere(request: Request, error: Exception) -> Response:
    """Answer a request for which there is no route."""
    return Problem.of(error).response()
