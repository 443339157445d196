"""What a test does to the requests of the code under test: the controls of the fixture ``vault``."""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from urllib.parse import urlsplit

import pytest

from tests.limits import LONGEST, eventually
from tests.servers.front import Front
from tests.servers.upstream import Upstream
from tests.servers.vault_answers import ask
from tests.servers.web import DropConnection, Request, Response, WebServer

HEALTH = "/v1/sys/health"


def seen(vault):
    return [(request.method, request.path, request.status) for request in vault.requests()]


def test_requests_are_seen_without_their_tokens_and_bodies(vault):
    role = vault.approle("x")
    body = {"role_id": role.role_id, "secret_id": role.secret_id}
    ask(vault.address, "POST", "/v1/auth/approle/login", body=body, headers={"X-Vault-Namespace": "team"})
    ask(vault.address, "GET", "/v1/a%20b?version=3", token="hvs.c4nary")
    login, read = vault.requests()
    assert (login.method, login.path, login.status, login.namespace) == ("POST", "auth/approle/login", 200, "team")
    assert (read.method, read.path, read.raw_path, read.query) == ("GET", "a b", "/v1/a%20b", "version=3")
    assert (login.is_login, read.is_login) == (True, False)
    assert (login.token, len(read.token)) == ("", 16)
    assert "c4nary" not in repr(read)
    assert role.secret_id not in repr(login)
    assert read.started <= read.ended


def test_what_a_test_sets_up_is_not_seen(vault):
    vault.put("apps/db", {"password": "x"})
    vault.token()
    assert vault.requests() == ()


def test_the_next_requests_fail_with_a_status(vault):
    vault.fail(2, 503, body="{}", headers={"Retry-After": "1"})
    failed = [ask(vault.address, "GET", HEALTH) for _ in range(2)]
    assert [(answer.status, answer.body, answer.headers["retry-after"]) for answer in failed] == [(503, {}, "1")] * 2
    assert ask(vault.address, "GET", HEALTH).status == 200
    assert [status for _, _, status in seen(vault)] == [503, 503, 200]


def test_only_requests_below_a_path_fail(vault):
    vault.fail(1, 500, path="sys/health")
    assert ask(vault.address, "GET", "/v1/sys/seal-status").status == 200
    assert ask(vault.address, "GET", HEALTH).status == 500


def test_faults_follow_each_other(vault):
    vault.fail(1, 500)
    vault.fail(1, 429)
    assert [ask(vault.address, "GET", HEALTH).status for _ in range(3)] == [500, 429, 200]


def test_a_reset_takes_faults_delays_and_requests_away(vault):
    vault.delay(1000 * LONGEST)
    vault.fail(1, 500)
    vault.reset()
    assert ask(vault.address, "GET", HEALTH).status == 200
    assert len(vault.requests()) == 1
    vault.reset()
    assert vault.requests() == ()


def test_requests_are_delayed(vault):
    vault.delay(150)
    started = time.monotonic()
    ask(vault.address, "GET", HEALTH)
    assert time.monotonic() - started >= 0.15
    (request,) = vault.requests()
    assert request.ended - request.started >= 0.15


def test_a_delayed_request_does_not_hold_up_another(vault):
    vault.delay(1000 * LONGEST)
    with ThreadPoolExecutor(8) as threads:
        answers = [threads.submit(ask, vault.address, "GET", HEALTH) for _ in range(8)]
        assert eventually(lambda: vault.arrived() == 8)
        assert not any(answer.done() for answer in answers)
        vault._front.close()  # lets go of what is delayed
        assert {answer.result().status for answer in answers} == {200}


def test_a_connection_is_reset(vault):
    vault.fail(1, "reset")
    with pytest.raises(ConnectionResetError):
        ask(vault.address, "GET", HEALTH)
    assert seen(vault) == [("GET", "sys/health", 0)]
    assert ask(vault.address, "GET", HEALTH).status == 200


def test_an_answer_is_cut(vault):
    vault.fail(1, "cut")
    with pytest.raises(http.client.IncompleteRead) as caught:
        ask(vault.address, "GET", HEALTH)
    assert caught.value.partial
    assert caught.value.expected
    assert seen(vault) == [("GET", "sys/health", 200)]


def test_a_cut_answer_was_carried_out(vault):
    vault.fail(1, "cut")
    with pytest.raises(http.client.IncompleteRead):
        ask(vault.address, "POST", "/v1/auth/token/create", token=vault.token({"*": ["update"]}), body={})
    assert len(vault.live_tokens()) == 2


def test_a_request_hangs(vault):
    vault.fail(1, "hang")
    with closing(http.client.HTTPConnection(urlsplit(vault.address).netloc, timeout=0.2)) as connection:
        connection.request("GET", HEALTH)
        with pytest.raises(TimeoutError):
            connection.getresponse()
    assert ask(vault.address, "GET", HEALTH).status == 200


def test_a_request_that_hangs_ends_with_the_test():
    front = Front(lambda _: Response(200))
    front.fail(1, "hang")
    with closing(socket.socket()) as client, WebServer(front) as server:
        client.connect((urlsplit(server.address).hostname, urlsplit(server.address).port))
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        threading.Timer(0.2, front.close).start()
        with pytest.raises(ConnectionResetError):
            client.recv(1)


def test_a_request_is_sent_elsewhere(vault):
    vault.fail(1, "redirect", body="http://127.0.0.1:1/")
    moved = ask(vault.address, "GET", HEALTH)
    assert (moved.status, moved.headers["location"]) == (307, f"http://127.0.0.1:1{HEALTH}")


def test_the_same_server_speaks_https(vault):
    https = vault.https
    vault.fail(1, 500)
    context = ssl.create_default_context(cafile=https.ca_file)
    for status in (500, 200):
        with closing(http.client.HTTPSConnection(urlsplit(https.address).netloc, context=context)) as connection:
            connection.request("GET", HEALTH)
            response = connection.getresponse()
            assert response.status == status
            response.read()
    assert [status for _, _, status in seen(vault)] == [500, 200]


def test_who_does_not_trust_the_certificate_sends_nothing(vault):
    address = urlsplit(vault.https.address).netloc
    with (
        closing(http.client.HTTPSConnection(address, context=ssl.create_default_context())) as connection,
        pytest.raises(ssl.SSLCertVerificationError),
    ):
        connection.request("GET", HEALTH)
    assert vault.requests() == ()


def test_seconds_pass(vault):
    holder = vault.token("x", ttl=1)
    vault.advance(1.5)
    assert ask(vault.address, "GET", "/v1/auth/token/lookup-self", token=holder).status == 403


def test_what_a_test_made_is_counted(vault):
    path = vault.creds()
    assert (vault.live_tokens(), vault.live_leases()) == (frozenset(), frozenset())
    holder = vault.token()
    ask(vault.address, "GET", f"/v1/{path}", token=holder)
    assert (len(vault.live_tokens()), len(vault.live_leases())) == (1, 1)


def test_a_kept_connection_is_used_again_by_another_thread():
    connections = []

    def application(request: Request) -> Response:
        return Response(200, b"x")

    with WebServer(application) as server, closing(Upstream(server.address)) as upstream:
        for _ in range(3):
            thread = threading.Thread(target=lambda: connections.append(upstream(Request("GET", "/", "", {}, b""))))
            thread.start()
            thread.join()
        assert [answer.status for answer in connections] == [200] * 3
        assert len(upstream._idle) == 1


def test_a_server_that_drops_the_connection_is_passed_on():
    def application(request: Request) -> Response:
        raise DropConnection

    with WebServer(application) as server, closing(Upstream(server.address)) as upstream:
        with pytest.raises(DropConnection):
            upstream(Request("GET", "/", "", {}, b""))
        assert not upstream._idle
