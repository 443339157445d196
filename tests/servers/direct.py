"""Sessions of ``requests`` for what is near: a server of this machine, or an application of this process."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tests.servers.web import Application, Request

if TYPE_CHECKING:
    import requests


def near_session() -> requests.Session:
    """Return a session that looks for no proxy, which takes as long as a request."""
    import requests

    session = requests.Session()
    session.trust_env = False
    return session


def direct_session(application: Application) -> requests.Session:
    """Return a session whose requests with ``http://`` the application answers, whatever their host."""
    import requests
    from requests.adapters import BaseAdapter

    class Direct(BaseAdapter):
        def send(self, request: requests.PreparedRequest, *_: Any, **__: Any) -> requests.Response:
            answer = application(_asked(request))
            response = requests.Response()
            response.status_code, response.url, response.request = answer.status, str(request.url), request
            response.headers.update(answer.headers)
            response.raw = io.BytesIO(answer.body)
            return response

        def close(self) -> None:
            """Nothing is open."""

    session = near_session()
    session.mount("http://", Direct())
    return session


def _asked(request: requests.PreparedRequest) -> Request:
    place, body = urlsplit(str(request.url)), request.body or b""
    headers = {name.lower(): value for name, value in request.headers.items()}
    return Request(
        str(request.method), place.path, place.query, headers, body.encode() if isinstance(body, str) else body
    )
