"""The answers to requests that fail."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from airflow_config_providers.core.text import one_line, printable
from airflow_config_providers.deployment.failures import failure_of
from airflow_config_providers.deployment.rows import as_json
from airflow_config_providers.dynamic.database import unavailable
from airflow_config_providers.exceptions import ConfigProvidersError, ForbiddenError, MalformedRequestError
from airflow_config_providers.lazy import sa

HEADERS: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
"""The headers of every answer: only the user who asked may have it, and it is only JSON."""

_log = logging.getLogger(__name__)

_SIGN_IN: Final = "Get a token from POST /auth/token, or by --username, and send it as Authorization: Bearer."

_NEEDED: Final = {"int_parsing": "must be a whole number", "bool_parsing": "must be true or false"}
"""What FastAPI calls wrong parameters -> what to tell people."""

_FORBIDDEN: Final = (
    "You do not have permission to do this, or the resource does not exist. Correct the name, or ask for permission. "
    "A change also needs the right to edit the variable that holds the configuration."
)


@dataclass(frozen=True, slots=True)
class Problem:
    """
    The problems of a request.

    :param kind: a kind of ``FAILURES``
    :param problems: sentences without values
    """

    status: int
    kind: str
    problems: Sequence[str]

    @classmethod
    def of(cls, error: Exception) -> Self:
        """Return the answer to ``error``. For an unexpected error it shows only the type."""
        if isinstance(error, ConfigProvidersError):
            failure = failure_of(error)
            return cls(failure.status, failure.kind, [one_line(problem) for problem in error.problems])
        if isinstance(error, HTTPException):
            return cls._of_http(error)
        if isinstance(error, RequestValidationError):  # it also holds the input, which can be a secret
            return cls.of(MalformedRequestError(*(_place(one) for one in error.errors())))
        _log.error("A request failed with %s at %s.", type(error).__name__, _origin(error))
        if isinstance(error, sa.exc.DBAPIError | sa.exc.TimeoutError):  # of Airflow, which asks it for each token
            return cls.of(unavailable("answering a request", error))
        return cls(500, "failed", [f"The server failed with {type(error).__name__}. See its log."])

    @classmethod
    def _of_http(cls, error: HTTPException) -> Self:
        detail = printable(str(error.detail))
        if error.status_code == 401 or (error.status_code == 403 and detail != "Forbidden"):
            return cls(error.status_code, "unauthenticated", [f"{detail}. {_SIGN_IN}"])
        if error.status_code == 403:
            return cls.of(ForbiddenError(_FORBIDDEN))
        return cls(error.status_code, "malformed", [f"{detail}."])

    def response(self, notes: Sequence[str] = ()) -> Response:
        """Return the HTTP response."""
        headers = {**HEADERS, **({"WWW-Authenticate": "Bearer"} if self.status == 401 else {})}
        content = {"kind": self.kind, "problems": list(self.problems), "notes": list(notes)}
        return Response(as_json(content), self.status, headers, "application/json")


class ProblemRoute(APIRoute):
    """A route that answers every error, including those of its dependencies, with a ``Problem``."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of a request."""
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                return await handle(request)
            except Exception as error:  # noqa: BLE001 - no stack trace may leave, and no log may get its text
                problem = Problem.of(error)
            return problem.response(getattr(request.state, "notes", ()))

        return answer


def _origin(error: Exception) -> str:
    """Return where ``error`` was raised, without its message, which can hold a value."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "?"


def _place(error: Any) -> str:
    where = ".".join(str(part) for part in error.get("loc", ())[1:])
    kind = str(error.get("type"))
    wrong = _NEEDED.get(kind, f"is invalid ({printable(kind)})")
    return f"'{printable(where)}' {wrong}. Correct it."
