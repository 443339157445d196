"""Logins that Vault cannot have seen, since there was no connection to send them on."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest

from airflow_config_providers.exceptions import ProviderLookupError, ProviderUnavailableError
from airflow_config_providers.providers.vault.session import Sessions
from tests.providers.vault.opened import Parameters, provider_of
from tests.servers.web import LINGER_ZERO

pytest.importorskip("hvac")


class Closing:
    """A server that answers whatever comes first with some bytes, and drops the connection."""

    def __init__(self, reply: bytes = b"") -> None:
        self.count = 0
        self._reply = reply
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listening.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                self.count += 1
                with connection, contextlib.suppress(OSError):
                    connection.recv(65536)
                    connection.sendall(self._reply)
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_ZERO)


def tried(sessions: Sessions, **more: str) -> Exception:
    """Sign in with a password, and give the error."""
    params: Parameters = {"auth_type": "userpass", "username": "u", "password": "p", "give_back_after_kill": "false"}
    with (
        contextlib.closing(provider_of({**params, **more}, sessions)) as provider,
        pytest.raises(ProviderLookupError) as caught,
    ):
        provider.get("secret/a", {"k"})
    return caught.value


@pytest.fixture
def port() -> Iterator[int]:
    """A port on which no server listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def is_as_before(error: Exception) -> bool:
    return type(error) is ProviderUnavailableError and "did not answer the login by" not in str(error)


def test_where_tls_breaks_off_each_login_is_tried() -> None:
    sessions = Sessions()
    with contextlib.closing(Closing()) as server:
        assert all(is_as_before(tried(sessions, url=f"https://{server.address}")) for _ in range(4))
        assert server.count == 4


def test_where_a_proxy_makes_no_tunnel_each_login_is_tried() -> None:
    sessions = Sessions()
    with contextlib.closing(Closing(b"HTTP/1.1 502 Bad Gateway\r\n\r\n")) as server:
        more = {"url": "https://vault.invalid", "proxies": f'{{"https": "http://{server.address}"}}'}
        assert all(is_as_before(tried(sessions, **more)) for _ in range(4))
        assert server.count == 4


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_where_nobody_listens_each_login_is_tried(port: int, scheme: str) -> None:
    sessions = Sessions()
    assert all(is_as_before(tried(sessions, url=f"{scheme}://127.0.0.1:{port}")) for _ in range(4))


def test_where_tls_does_not_begin_in_time_each_login_is_tried() -> None:
    sessions = Sessions()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"https://127.0.0.1:{silent.getsockname()[1]}"
        errors = [tried(sessions, url=url, timeout="0.1") for _ in range(4)]
    assert all(is_as_before(error) and "in time" in str(error) for error in errors)
