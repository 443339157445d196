"""The client of the REST interface, and servers that are not as they should be."""

from __future__ import annotations

import gzip
import http.server
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from secrets import token_hex
from types import SimpleNamespace

import pytest

pytest.importorskip("airflow")

from airflow_config_providers.cli.failing import WrongArgumentsError
from airflow_config_providers.cli.server import ServerClient, ServerConfigurations, path
from airflow_config_providers.cli.target import token
from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource, ResourceType
from airflow_config_providers.deployment.rows import SECRET, KeySelection
from airflow_config_providers.exceptions import (
    ConfigException,
    ConfigProvidersError,
    ForbiddenError,
    PolicyViolation,
    ProviderUnavailableError,
    UnknownResourceError,
)
from tests.limits import LONGEST
from tests.servers.certificates import Certificate, self_signed

CANARY = f"c4nary-{token_hex(8)}"
DEFAULT = ConfigResource(ResourceType.DEFAULT)


@dataclass
class Odd:
    """A server that always answers the same."""

    status: int = 200
    content: bytes = b'{"rows": [], "notes": []}'
    headers: dict[str, str] = field(default_factory=dict)
    wait: threading.Event | None = None
    drips: bool = False
    certificate: Certificate | None = None
    asked: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)

    @contextmanager
    def serving(self) -> Iterator[str]:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        if self.certificate:
            server.socket = self.certificate.server_context().wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield f"http{'s' if self.certificate else ''}://127.0.0.1:{server.server_port}"
        finally:
            if self.wait:
                self.wait.set()
            server.shutdown()
            server.server_close()

    def _handler(odd) -> type[http.server.BaseHTTPRequestHandler]:  # noqa: N805 - self is the handler's
        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                odd.asked.append((self.command, self.path, dict(self.headers), body))
                if odd.wait:
                    self.drip(odd.wait) if odd.drips else odd.wait.wait(LONGEST)
                    return
                self.send_response(odd.status)
                for name, value in odd.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(odd.content)))
                self.end_headers()
                self.wfile.write(odd.content)

            def drip(self, over: threading.Event) -> None:
                with suppress(OSError):
                    self.wfile.write(b"HTTP/1.1 200 OK\r\n")
                    while not over.wait(0.05):
                        self.wfile.write(b"X: y\r\n")

            do_GET = do_PATCH = do_POST = answer  # noqa: N815 - the library's names

            def log_message(self, *args: object) -> None:
                pass

        return Handler


def describe(address: str, **more: object) -> list[object]:
    client = ServerClient(address, CANARY, **more)
    return ServerConfigurations(client, print).describe(DEFAULT, KeySelection())


def alter(address: str, **more: object) -> list[object]:
    client = ServerClient(address, CANARY, **more)
    return ServerConfigurations(client, print).alter(DEFAULT, [AlterConfigOp("a", CANARY)])


def problem(kind: str) -> bytes:
    return json.dumps({"kind": kind, "problems": ["one", "two"]}).encode()


ANSWERS = [
    pytest.param(403, problem("denied"), PolicyViolation, "one", id="denied"),
    pytest.param(403, problem("forbidden"), ForbiddenError, "one", id="forbidden"),
    pytest.param(401, problem("unauthenticated"), ForbiddenError, "one", id="unauthenticated"),
    pytest.param(422, problem("refused"), ConfigProvidersError, "one", id="refused"),
    pytest.param(500, problem("failed"), ProviderUnavailableError, "one", id="failed"),
    pytest.param(403, b"<html>", ForbiddenError, "refuses access (403)", id="a proxy"),
    pytest.param(401, b"", ForbiddenError, "refuses access (401)", id="another proxy"),
    pytest.param(
        404,
        b'{"detail": "Not Found"}',
        ConfigException,
        "has no interface of airflow-config-providers (404)",
        id="no interface",
    ),
    pytest.param(200, b"<html>", ConfigException, "has no interface of airflow-config-providers (200)", id="a page"),
    pytest.param(
        200, b'{"rows": "x"}', ConfigException, "has no interface of airflow-config-providers (200)", id="no rows"
    ),
    pytest.param(
        200, b'{"rows": ["x"]}', ConfigException, "has no interface of airflow-config-providers (200)", id="odd rows"
    ),
    pytest.param(200, b"[" * 100_000, ConfigException, "has no interface of airflow-config-providers (200)", id="deep"),
    pytest.param(502, b"\xff", ProviderUnavailableError, "failed (502)", id="a gateway"),
    pytest.param(302, b"", ConfigException, "redirects", id="redirect"),
]


@pytest.mark.parametrize(("status", "content", "kind", "told"), ANSWERS)
@pytest.mark.parametrize("ask", [describe, alter])
def test_an_odd_answer_is_an_error_with_a_way_out(
    ask: Callable[[str], object], status: int, content: bytes, kind: type[Exception], told: str
):
    headers = {"Location": "http://127.0.0.1:9/elsewhere"} if status == 302 else {}
    with Odd(status, content, headers).serving() as address, pytest.raises(kind) as caught:
        ask(address)

    assert told in str(caught.value)
    assert CANARY not in repr((caught.value, caught.value.__cause__, caught.value.__context__))


BOMB = gzip.compress(bytes(65 * 1024 * 1024))


@pytest.mark.parametrize(
    ("ask", "way_out"),
    [
        pytest.param(describe, "Ask for less, such as one task.", id="describe"),
        pytest.param(alter, "The change might have been made: check the history.", id="alter"),
    ],
)
def test_an_answer_that_is_too_large_is_not_read_to_its_end(ask: Callable[[str], object], way_out: str):
    with (
        Odd(content=BOMB, headers={"Content-Encoding": "gzip"}).serving() as address,
        pytest.raises(ConfigException) as caught,
    ):
        ask(address)

    assert str(caught.value) == f"{address} answered with more than 64 MiB. {way_out}"


def test_an_answer_of_too_many_values_is_not_parsed():
    content = b'{"rows": [], "notes": [%b[]]}' % (b"[]," * 1_000_000)
    with Odd(content=content).serving() as address, pytest.raises(ConfigException, match="more than 1,000,000 values"):
        describe(address)


def test_a_redirect_is_not_followed_with_the_token():
    elsewhere = Odd()
    with elsewhere.serving() as other:
        odd = Odd(307, headers={"Location": other})
        with odd.serving() as address, pytest.raises(ConfigException):
            alter(address)

    assert (len(odd.asked), elsewhere.asked) == (1, [])


@pytest.mark.parametrize("key", ["x" * 100_000, "\ud800"], ids=["long", "surrogate"])
def test_what_cannot_be_asked_for_is_refused(key: str):
    with pytest.raises(WrongArgumentsError, match="invalid request"):
        ServerConfigurations(ServerClient("http://127.0.0.1:9"), print).describe(DEFAULT, KeySelection((key,)))


def test_nobody_is_there():
    with Odd().serving() as address:
        pass

    with pytest.raises(ProviderUnavailableError, match=r"cannot be reached \(ConnectError\)"):
        alter(address)


@pytest.mark.parametrize(("ask", "told"), [(describe, "try again later"), (alter, "but might have made the change")])
@pytest.mark.parametrize("drips", [False, True])
def test_a_server_that_does_not_answer_is_not_waited_for(ask: Callable[..., object], told: str, drips: bool):
    with (
        Odd(wait=threading.Event(), drips=drips).serving() as address,
        pytest.raises(ProviderUnavailableError, match=told),
    ):
        ask(address, seconds=0.3)


def test_what_is_hidden_stays_hidden_and_notes_are_told():
    row = {"key": "k", "value": None, "source": "DAG_CONFIG", "synonyms": [{"value": None, "source": "X"}]}
    gone = {"key": "k", "value": None, "source": None}
    odd, notes = Odd(content=json.dumps({"rows": [row, gone], "notes": ["n", 3]}).encode()), []

    with odd.serving() as address:
        rows = ServerConfigurations(ServerClient(address, "t"), notes.append).describe(DEFAULT, KeySelection())

    assert [rows[0]["value"], rows[0]["synonyms"][0]["value"], rows[1]["value"]] == [SECRET, SECRET, None]
    assert notes == ["n"]


def test_the_token_is_in_one_header_and_nowhere_else():
    odd = Odd()
    with odd.serving() as address:
        describe(address)

    ((_, asked, headers, body),) = odd.asked
    assert headers.pop("Authorization") == f"Bearer {CANARY}"
    assert CANARY not in str((asked, headers, body))
    assert CANARY not in repr(ServerClient("x", CANARY))


NAMES = [
    (DEFAULT, "/default"),
    (ConfigResource(ResourceType.DAG, "a.b"), "/dags/a.b"),
    (ConfigResource.of_task("a.b", "g.t"), "/dags/a.b/tasks/g.t"),
    (ConfigResource(ResourceType.DAG, "a?b#c%2Fé "), "/dags/a%3Fb%23c%252F%C3%A9%20"),
]


@pytest.mark.parametrize(("resource", "expected"), NAMES)
def test_a_resource_has_one_place(resource: ConfigResource, expected: str):
    assert path(resource) == expected


@pytest.mark.parametrize("name", ["..", ".", "a/../b", "/", "a\n", "\ud800"])
def test_a_name_that_means_another_place_is_refused(name: str):
    for resource in (ConfigResource(ResourceType.DAG, name), ConfigResource.of_task("dag", name)):
        with pytest.raises(UnknownResourceError, match="its name would lead elsewhere"):
            path(resource)


ADDRESSES = [
    "ftp://host",
    "host",
    "https://",
    "",
    "https://host:port",
    "https://host:0",
    f"https://user:{CANARY}@host",
    f"https://{CANARY}@host",
    f"https://host?token={CANARY}",
    f"https://host#{CANARY}",
    f"https://host/{CANARY} x",
    f"https://host\n{CANARY}",
    "https://[::1",
]


@pytest.mark.parametrize("address", ADDRESSES, ids=lambda address: address.replace(CANARY, "canary"))
def test_an_odd_address_is_refused_and_not_told(address: str):
    with pytest.raises(WrongArgumentsError) as caught:
        ServerClient.of(address)

    assert CANARY not in str(caught.value)


PLAIN = [
    ("http://localhost:8080", True),
    ("http://127.0.0.1", True),
    ("http://[::1]:8080", True),
    ("http://airflow.example.com", False),
    ("http://127.0.0.1.example.com", False),
    ("http://localhost.example.com", False),
    ("https://airflow.example.com/base/", True),
]


@pytest.mark.parametrize(("address", "is_fine"), PLAIN)
def test_attack_50_a_token_does_not_travel_unencrypted_unless_that_is_said(address: str, is_fine: bool):
    if not is_fine:
        with pytest.raises(WrongArgumentsError, match="anyone on the network path could read the token"):
            ServerClient.of(address)

    assert ServerClient.of(address, plain_http=True).address == address.rstrip("/")


def test_attack_50_a_proxy_does_not_read_what_is_not_encrypted(monkeypatch: pytest.MonkeyPatch):
    with Odd().serving() as proxy, Odd().serving() as address:
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
        monkeypatch.setenv("ALL_PROXY", proxy)
        monkeypatch.delenv("NO_PROXY", raising=False)

        assert describe(address) == []


def test_attack_50_a_server_has_to_show_a_certificate_that_somebody_vouches_for(tmp_path, monkeypatch):
    certificate = self_signed(tmp_path)
    odd = Odd(certificate=certificate)
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)

    with odd.serving() as address:
        with pytest.raises(ConfigException, match=r"The certificate of .* is not trusted") as caught:
            alter(address)
        assert odd.asked == []
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate.certificate))
        assert describe(address) == []

    assert CANARY not in str(caught.value)


TOKENS = [
    pytest.param(200, b'{"access_token": "abc"}', "abc", id="given"),
    pytest.param(201, b'{"access_token": "a b"}', ConfigException, id="odd"),
    pytest.param(201, b"[]", ConfigException, id="none"),
    pytest.param(401, b"", ForbiddenError, id="refused"),
    pytest.param(404, b"", ConfigException, id="no such route"),
    pytest.param(503, b"", ProviderUnavailableError, id="failed"),
]


@pytest.mark.parametrize("kind", ["token", "password"])
def test_the_message_on_a_file_with_credentials_calls_it_what_it_is(kind: str):
    files = {"token_file": None, "password_file": None, f"{kind}_file": "/nowhere/at-all"}
    args = SimpleNamespace(username="ann" if kind == "password" else None, **files)

    with pytest.raises(ConfigException, match=f"The {kind} file '/nowhere/at-all' cannot be read"):
        token(args, ServerClient("http://127.0.0.1:1"))


@pytest.mark.parametrize(("status", "content", "expected"), TOKENS)
def test_a_password_gets_a_token(tmp_path, status: int, content: bytes, expected: object):
    (tmp_path / "password").write_text(f"{CANARY}\r\n")
    args = SimpleNamespace(username="ann", password_file=str(tmp_path / "password"), token_file=None)
    odd = Odd(status, content)

    with odd.serving() as address:
        if isinstance(expected, str):
            assert token(args, ServerClient(address)) == expected
        else:
            with pytest.raises(expected) as caught:
                token(args, ServerClient(address))
            assert CANARY not in str(caught.value)

    assert json.loads(odd.asked[0][3]) == {"username": "ann", "password": CANARY}
