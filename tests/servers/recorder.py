"""A server that gives everybody a token, and keeps what it was sent, bodies and headers too."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from tests.servers.web import Request, Response

if TYPE_CHECKING:
    from airflow_config_providers.providers.vault.logins.login import VaultToken
    from airflow_config_providers.providers.vault.settings import VaultSettings

GIVEN_TOKEN = "hvs.given-by-the-recorder"
LOGGED_IN: Mapping[str, Any] = {
    "auth": {"client_token": GIVEN_TOKEN, "lease_duration": 2764800, "renewable": True, "token_type": "service"}
}


@dataclass(frozen=True, slots=True)
class Recorded:
    """
    One request.

    :param path: unquoted
    :param body: read as JSON; None for none
    """

    method: str
    path: str
    body: Any
    headers: Mapping[str, str] = field(repr=False, compare=False)


def signed_in(settings: VaultSettings) -> VaultToken:
    """Sign in as ``settings`` say, with connections that end with it; the client keeps no token."""
    from airflow_config_providers.providers.vault.transport import make_client

    client = make_client(settings)
    with closing(client.adapter):
        token = settings.login(client)
    assert client.token == ""
    return token


class Recorder:
    """
    An application for a ``WebServer``; thread-safe.

    :param answer: JSON that every request gets
    :param headers: of the answer
    """

    def __init__(
        self, answer: Mapping[str, Any] = LOGGED_IN, *, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        self._response = Response(
            status, json.dumps(answer).encode(), {"Content-Type": "application/json", **(headers or {})}
        )
        self._lock = threading.Lock()
        self._requests: list[Recorded] = []

    def __call__(self, request: Request) -> Response:
        try:
            body = json.loads(request.body) if request.body else None
        except ValueError:
            body = request.body
        with self._lock:
            self._requests.append(Recorded(request.method, unquote(request.path), body, request.headers))
        return self._response

    def requests(self) -> list[Recorded]:
        """Return the requests so far."""
        with self._lock:
            return list(self._requests)

    def forget(self) -> None:
        """Forget what came so far."""
        with self._lock:
            self._requests.clear()
