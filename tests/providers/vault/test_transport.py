from __future__ import annotations

import logging
import os
import ssl
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from airflow_config_providers.exceptions import AccessDeniedError, ProviderLookupError, ProviderUnavailableError
from airflow_config_providers.providers.vault.logins.credentials import TokenLogin
from airflow_config_providers.providers.vault.logins.login import Credential
from airflow_config_providers.providers.vault.settings import VaultSettings
from airflow_config_providers.providers.vault.transport import THREADS, Breaker, Breakers, Transport, make_client
from airflow_config_providers.testing import FakeClock
from tests.limits import LONGEST
from tests.servers.certificates import self_signed
from tests.servers.recorder import Recorder
from tests.servers.web import Request, Response, WebServer

requests = pytest.importorskip("requests")
hvac = pytest.importorskip("hvac")


def read(made: VaultSettings) -> None:
    client = make_client(made)
    with closing(client.adapter):
        client.read("secret/x")


def settings(url: str, **more: Any) -> VaultSettings:
    return VaultSettings(url=url, login=TokenLogin(Credential("t")), **more)


def test_a_request_carries_the_namespace_and_no_token(recorder: Recorder, address: str) -> None:
    read(settings(address, namespace="team/a"))

    (request,) = recorder.requests()
    assert request.headers["x-vault-namespace"] == "team/a"
    assert request.headers["x-vault-request"] == "true"
    assert "x-vault-token" not in request.headers


def test_cookies_of_what_is_in_front_of_vault_are_not_kept() -> None:
    sent = []

    def application(request: Request) -> Response:
        sent.append(request.headers.get("cookie"))
        return Response(200, b"{}", {"Content-Type": "application/json", "Set-Cookie": "of=a-proxy"})

    with WebServer(application) as server:
        client = make_client(settings(server.address))
        for _ in range(2):
            client.adapter.request("get", "/v1/kv/a")
        client.adapter.close()
    assert sent == [None, None]


def test_the_token_of_the_environment_and_of_the_home_directory_are_left_alone(
    recorder: Recorder, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".vault-token").write_text("of-the-home-directory")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("VAULT_TOKEN", "of-the-environment")
    monkeypatch.setenv("VAULT_ADDR", "http://127.0.0.1:1")

    read(settings(address))

    assert "x-vault-token" not in recorder.requests()[0].headers


def test_the_timeout_ends_a_request_that_is_not_answered(address: str) -> None:
    stop = threading.Event()

    def never(request: Request) -> Response:
        stop.wait(LONGEST)
        return Response(200)

    with WebServer(never) as server:
        with pytest.raises(requests.exceptions.ReadTimeout):
            read(settings(server.address, timeout=0.1))
        stop.set()


def test_a_request_that_fails_is_not_sent_again() -> None:
    recorder = Recorder({"errors": []}, status=503)

    with WebServer(recorder) as server, pytest.raises(hvac.exceptions.VaultDown):
        read(settings(server.address))

    assert len(recorder.requests()) == 1


def test_sixty_four_threads_keep_their_connections() -> None:
    together = threading.Barrier(THREADS)

    def answer(request: Request) -> Response:
        together.wait(LONGEST)
        return Response(200, b"{}", {"Content-Type": "application/json"})

    with WebServer(answer) as server, ThreadPoolExecutor(THREADS) as pool:
        client = make_client(settings(server.address))
        for _ in range(2):
            list(pool.map(lambda path: client.read(f"secret/{path}"), range(THREADS)))
        manager = client.session.get_adapter(server.address).poolmanager
        opened = sum(manager.pools[key].num_connections for key in manager.pools.keys())  # noqa: SIM118 - it cannot be iterated
        client.adapter.close()

    assert opened == THREADS


def test_a_request_after_the_end_leaves_no_connection_open(address: str) -> None:
    client = make_client(settings(address))
    transport = Transport(client, where="Vault", breakers=Breakers(FakeClock()), login_namespace=None)

    transport.close()
    transport.post("sys/leases/revoke", {"lease_id": "late"}, token="t")

    assert len(client.session.get_adapter(address).poolmanager.pools) == 0


@pytest.mark.parametrize(
    ("verify", "url", "expected"),
    [
        pytest.param(False, "https://vault-{}:1", ["its certificate is not verified"], id="not verified"),
        pytest.param(True, "https://vault-{}:2", [], id="verified"),
        pytest.param(True, "http://vault-{}:3", ["the connection is not encrypted"], id="plain"),
        pytest.param(False, "http://127.0.0.1:4", [], id="this machine"),
        pytest.param(False, "http://localhost:5", [], id="localhost"),
        pytest.param(True, "http://localhost-{}.evil", ["the connection is not encrypted"], id="looks like localhost"),
    ],
)
def test_what_others_could_listen_to_is_warned_of_once(
    caplog: pytest.LogCaptureFixture, verify: bool, url: str, expected: list[str]
) -> None:
    url = url.format(os.urandom(4).hex())
    for _ in range(2):
        make_client(settings(url, verify=verify))

    assert [record.levelno for record in caplog.records] == [logging.WARNING] * len(expected)
    assert all(part in text and url in text for part, text in zip(expected, caplog.messages, strict=True))


def test_the_client_certificate_is_shown(recorder: Recorder, tmp_path: Path) -> None:
    made = self_signed(tmp_path)
    context = made.server_context()
    context.load_verify_locations(made.certificate)
    context.verify_mode = ssl.CERT_REQUIRED
    trusted = str(made.certificate)

    with WebServer(recorder, tls=context) as server:
        read(settings(server.address, verify=trusted, cert=(trusted, str(made.key))))
        with pytest.raises(requests.exceptions.ConnectionError):
            read(settings(server.address, verify=trusted))

    assert len(recorder.requests()) == 1


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
def test_without_verification_the_certificate_can_be_anyones(recorder: Recorder, tmp_path: Path) -> None:
    with WebServer(recorder, tls=self_signed(tmp_path).server_context()) as server:
        read(settings(server.address, verify=False))

    assert len(recorder.requests()) == 1


def test_importing_it_imports_no_client_library() -> None:
    script = (
        "import sys\n"
        "from airflow_config_providers.providers.vault import parameters, session, transport\n"
        "print({'hvac', 'requests', 'boto3', 'google', 'azure', 'airflow'} & set(sys.modules))"
    )

    shown = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)

    assert shown.stdout.strip() == "set()"


class Server:
    """Fails with ``error`` while it is set, and counts requests."""

    def __init__(self, error: ProviderLookupError | None = None) -> None:
        self.clock = FakeClock(100.0)
        self.breaker = Breaker(self.clock)
        self.error = error
        self.asked = 0

    def ask(self, failure: type[ProviderLookupError] = ProviderLookupError) -> None:
        with self.breaker.watching(failure):
            self.asked += 1
            if self.error is not None:
                raise self.error

    def ask_often(self, times: int, failure: type[ProviderLookupError] = ProviderLookupError) -> None:
        for _ in range(times):
            with pytest.raises(ProviderLookupError) as caught:
                self.ask(failure)
            assert type(caught.value) is type(self.error)
            assert str(caught.value) == str(self.error)


def test_while_one_request_finds_out_whether_the_server_is_back_the_others_are_not_sent() -> None:
    server = Server(ProviderUnavailableError("down"))
    server.ask_often(3)
    server.clock.sleep(1.0)

    with server.breaker.watching(ProviderLookupError), pytest.raises(ProviderUnavailableError, match="down"):
        server.breaker.refuse()


def test_attack_61_after_a_few_failures_in_a_row_requests_fail_without_being_sent() -> None:
    server = Server(ProviderUnavailableError("down"))
    server.ask_often(200)
    assert server.asked == 3


def test_after_a_pause_one_request_finds_out_whether_it_is_back() -> None:
    server = Server(ProviderUnavailableError("down"))
    server.ask_often(10)
    server.clock.sleep(2)
    server.ask_often(10)
    assert server.asked == 4


def test_once_it_is_back_everything_is_sent() -> None:
    server = Server(ProviderUnavailableError("down"))
    server.ask_often(10)
    server.clock.sleep(2)
    server.error = None
    for _ in range(5):
        server.ask()
    assert server.asked == 8


def test_failures_with_answers_between_stop_nothing() -> None:
    server = Server()
    for _ in range(5):
        server.error = ProviderUnavailableError("busy")
        server.ask_often(2)
        server.error = None
        server.ask()
    assert server.asked == 15


def test_a_server_that_says_when_is_left_alone_until_then() -> None:
    server = Server(ProviderUnavailableError("too many requests", retry_after=30))
    server.ask_often(10)
    server.clock.sleep(29)
    server.ask_often(10)
    assert server.asked == 1
    server.clock.sleep(1)
    server.ask_often(10)
    assert server.asked == 2


def test_a_server_that_wants_to_be_left_alone_for_ever_is_not() -> None:
    server = Server(ProviderUnavailableError("too many requests", retry_after=999_999))
    server.ask_often(10)
    server.clock.sleep(60)
    server.ask_often(10)
    assert server.asked == 2


def test_a_wrong_address_is_asked_once() -> None:
    server = Server(ProviderLookupError("redirect"))
    server.ask_often(10)
    assert server.asked == 1


def test_what_is_no_failure_of_the_server_stops_nothing() -> None:
    server = Server(AccessDeniedError("no"))
    server.ask_often(10, failure=ProviderUnavailableError)
    assert server.asked == 10


class Mounts:
    """A server with several mounts, each request to which is kept, and fails with ``error`` if one is given."""

    def __init__(self) -> None:
        self.breakers = Breakers(FakeClock(100.0))
        self.asked: list[str] = []

    def ask(self, mount: str, error: ProviderLookupError | None = None, *, is_limit: bool = False) -> None:
        with self.breakers.watching(mount, ProviderLookupError, is_limit=lambda: is_limit):
            self.asked.append(mount)
            if error is not None:
                raise error


def test_a_mount_that_has_too_many_requests_is_left_alone_and_no_other() -> None:
    server = Mounts()
    for _ in range(3):
        with pytest.raises(ProviderUnavailableError, match="too many"):
            server.ask("kv", ProviderUnavailableError("too many", retry_after=30), is_limit=True)
        server.ask("db")
    assert server.asked == ["kv", "db", "db", "db"]


def test_refusals_of_a_mount_are_counted_from_its_last_answer() -> None:
    server = Mounts()
    for _ in range(2):
        for _ in range(2):
            with pytest.raises(ProviderUnavailableError):
                server.ask("kv", ProviderUnavailableError("too many"), is_limit=True)
        server.ask("kv")
    assert len(server.asked) == 6


def test_failures_of_a_server_are_counted_from_its_last_answer() -> None:
    server = Mounts()
    for _ in range(2):
        for mount in ("a", "b"):
            with pytest.raises(ProviderUnavailableError):
                server.ask(mount, ProviderUnavailableError("down"))
        server.ask("kv")
    assert len(server.asked) == 6


def test_a_mount_that_has_too_many_requests_shows_that_the_server_is_up() -> None:
    server = Mounts()
    for _ in range(2):
        for mount in ("a", "b"):
            with pytest.raises(ProviderUnavailableError):
                server.ask(mount, ProviderUnavailableError("down"))
        with pytest.raises(ProviderUnavailableError, match="too many"):
            server.ask("kv", ProviderUnavailableError("too many"), is_limit=True)
    assert len(server.asked) == 6


def test_a_server_that_is_down_is_left_alone_whatever_the_mount() -> None:
    server = Mounts()
    for number in range(10):
        with pytest.raises(ProviderUnavailableError):
            server.ask(f"mount {number}", ProviderUnavailableError("down"))
    assert len(server.asked) == 3
