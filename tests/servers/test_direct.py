"""Requests that an application answers in the process itself."""

from __future__ import annotations

import json

import pytest

from tests.servers.direct import direct_session
from tests.servers.web import Response, WebServer

pytest.importorskip("requests")
import requests


def echo(request):
    """Answer with what was asked."""
    asked = [request.method, request.path, request.query, request.headers["x-token"], request.body.decode()]
    return Response(418, json.dumps(asked).encode(), {"X-Answer": "é"})


@pytest.mark.parametrize(
    ("method", "path", "sent"),
    [
        pytest.param("GET", "/v1/a%2Fb", {}, id="a quoted path"),
        pytest.param("LIST", "/v1/a?list=true&x=1", {}, id="a query"),
        pytest.param("POST", "/v1/a", {"json": {"k": "ä"}}, id="a body"),
        pytest.param("PUT", "/v1/a", {"data": "ä".encode()}, id="octets"),
    ],
)
def test_an_application_is_asked_as_behind_a_server(method, path, sent):
    with WebServer(echo) as server, requests.Session() as session:
        there = session.request(method, f"{server.address}{path}", headers={"X-Token": "t"}, **sent)
    here = direct_session(echo).request(method, f"http://stand-in{path}", headers={"X-Token": "t"}, **sent)

    assert (here.status_code, here.json(), here.headers["x-answer"]) == (there.status_code, there.json(), "é")


def test_another_host_is_not_asked_without_a_server():
    with pytest.raises(requests.ConnectionError):
        direct_session(echo).get("https://127.0.0.1:1")
