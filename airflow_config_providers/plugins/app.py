"""The REST interface: an app that Airflow's API server mounts, but does not protect."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from airflow_config_providers import __version__
from airflow_config_providers.plugins.problems import Problem
from airflow_config_providers.plugins.routes import make_router


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


async def _nowhere(request: Request, error: Exception) -> Response:
    """Answer a request for which there is no route."""
    return Problem.of(error).response()
