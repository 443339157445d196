"""A server that answers with more than anybody reads."""

from __future__ import annotations

import contextlib
import gzip
import itertools
import json
import socket
import threading
from collections.abc import Iterable, Iterator

import pytest

pytest.importorskip("hvac")

from airflow_config_providers.exceptions import ProviderLookupError, ProviderUnavailableError
from airflow_config_providers.providers.vault.bounded import Bounded
from airflow_config_providers.providers.vault.faults import AnswerTooLargeError
from airflow_config_providers.providers.vault.provider import VaultConfigProvider
from tests.limits import LONGEST
from tests.providers.vault.opened import provider_of
from tests.servers.web import Request, Response, WebServer

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
NOT_FOUND = OK.replace(b"200 OK", b"404 Not Found")
MEBIBYTE = bytes(1024 * 1024)
BOMB = gzip.compress(bytes(64 * 1024 * 1024))
"""64 KiB that become 64 MiB."""
GZIP_HEADER = BOMB[:10]
EMPTY_BLOCK = bytes.fromhex("000000ffff")
"""Five bytes of a compressed answer that become none."""


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def patient(address: str, **login: str) -> VaultConfigProvider:
    """Return a provider that waits for an answer on a busy machine, too."""
    return provider_of({"url": address, "timeout": str(LONGEST), **login})


class Flood:
    """A server that answers with ``pieces``, as long as there are any, or the client is there; then it closes."""

    def __init__(self, pieces: Iterable[bytes], *, stays_open: bool = False) -> None:
        self.asked: list[bytes] = []
        self.connections = 0
        self._pieces = pieces
        self._stays_open = stays_open
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()
        self.address = f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                self.connections += 1
                with connection, contextlib.suppress(OSError):
                    self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        while request := connection.recv(65536):
            self.asked.append(request.split(b"\r\n")[0])
            for piece in self._pieces:
                connection.sendall(piece)
            if not self._stays_open:
                return


class Endless:
    """The same pieces for each who asks: a beginning, and one for ever."""

    def __init__(self, beginning: bytes, piece: bytes) -> None:
        self._parts = beginning, piece

    def __iter__(self) -> Iterator[bytes]:
        beginning, piece = self._parts
        return itertools.chain([beginning], itertools.repeat(piece))


FLOODS = pytest.mark.parametrize(
    "pieces",
    [
        pytest.param(Endless(OK + b"\r\n", MEBIBYTE), id="without length"),
        pytest.param(Endless(OK + b"Content-Length: 99999999999\r\n\r\n", MEBIBYTE), id="with length"),
        pytest.param(Endless(NOT_FOUND + b"\r\n", MEBIBYTE), id="refusal"),
        pytest.param(Endless(OK + b"Transfer-Encoding: chunked\r\n\r\n", chunk(MEBIBYTE)), id="chunks"),
        pytest.param(
            Endless(OK + b"Content-Encoding: gzip\r\n\r\n" + GZIP_HEADER, EMPTY_BLOCK * 65536),
            id="compressed nothing",
        ),
        pytest.param([OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(BOMB), BOMB], id="compressed"),
        pytest.param(
            Endless(OK + b"Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n", chunk(BOMB)),
            id="compressed in chunks",
        ),
        pytest.param(Endless(b"HTTP/1.1 307 Moved\r\nLocation: http://127.0.0.1:1/\r\n\r\n", MEBIBYTE), id="redirect"),
    ],
)


@FLOODS
def test_an_answer_without_end_is_told_with_its_path_and_not_asked_for_again(pieces: Iterable[bytes]) -> None:
    with contextlib.closing(Flood(pieces)) as server:
        provider = patient(server.address, token="hvs.t")
        with pytest.raises(ProviderLookupError, match=r"'kv/apps/db' with more than 32 MiB") as caught:
            provider.get("kv/apps/db", {"k"})
        assert type(caught.value) is ProviderLookupError
        assert caught.value.__cause__ is caught.value.__context__ is None
        assert server.asked == [b"GET /v1/kv/data/apps/db HTTP/1.1"]
        provider.close()


def test_a_login_that_is_answered_without_end_is_tried_once() -> None:
    with contextlib.closing(Flood(Endless(OK + b"\r\n", MEBIBYTE))) as server:
        provider = patient(server.address, auth_type="approle", role_id="r", secret_id="s")
        for _ in range(2):
            with pytest.raises(ProviderLookupError, match=r"more than 32 MiB") as caught:
                provider.get("kv/apps/db", {"k"})
            assert type(caught.value) is ProviderLookupError
        assert len(server.asked) == 1
        provider.close()


def test_headers_that_cannot_be_parsed_are_refused_and_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    pieces = [OK + b"hvs.written-by-a-server\r\nContent-Length: 2\r\n\r\n{}"]
    with contextlib.closing(Flood(pieces)) as server:
        vault = patient(server.address, token="hvs.t")
        with pytest.raises(ProviderUnavailableError, match="headers that cannot be parsed"):
            vault.get("kv/apps/db", {"k"})
        vault.close()
    assert "written-by-a-server" not in caplog.text


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        pytest.param(b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "headers", id="two lengths"),
        pytest.param(b"Transfer-Encoding: chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n", "a body", id="a negative chunk"),
    ],
)
def test_an_answer_that_is_not_http_is_of_something_in_front_of_vault(answer: bytes, shown: str) -> None:
    with contextlib.closing(Flood([OK + answer])) as server:
        provider = patient(server.address, token="hvs.t")
        with pytest.raises(ProviderUnavailableError) as caught:
            provider.get("kv/apps/db", {"k"})
        assert str(caught.value).endswith(f"answered with {shown} that cannot be parsed. Check what is in front of it.")
        assert caught.value.__cause__ is caught.value.__context__ is None
        provider.close()


def test_a_redirect_to_what_is_no_address_is_a_redirect() -> None:
    headers = {"Location": "http://["}
    with WebServer(lambda _: Response(307, b"", headers)) as server:
        provider = patient(server.address, token="hvs.t")
        with pytest.raises(ProviderLookupError, match=r"redirect \(status 307\), which is not followed"):
            provider.get("kv/apps/db", {"k"})
        provider.close()


ANSWER = b'{"data": {"data": {"k": "v"}, "metadata": {"version": 1}}}'


@pytest.mark.parametrize("status", [100, 102, 103, 199])
def test_what_follows_an_interim_answer_is_the_answer(status: int) -> None:
    interim = b"HTTP/1.1 %d Interim\r\nLink: </ui>\r\n\r\n" % status
    pieces = [interim, interim, OK + b"Content-Length: %d\r\n\r\n%b" % (len(ANSWER), ANSWER)]
    with contextlib.closing(Flood(pieces, stays_open=True)) as server:
        vault = patient(server.address, token="hvs.t", kv_engine_version="2")
        assert [vault.get(f"kv/{path}", {"k"}).data for path in ("a", "b")] == [{"k": "v"}] * 2
        vault.close()
    assert server.connections == 1


def test_a_connection_whose_protocol_was_switched_is_not_used_again() -> None:
    pieces = [b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\n\r\n"]
    with contextlib.closing(Flood(pieces, stays_open=True)) as server:
        vault = patient(server.address, token="hvs.t", kv_engine_version="2")
        for path in ("a", "b"):
            with pytest.raises(ProviderLookupError, match="status 101"):
                vault.get(f"kv/{path}", {"k"})
        vault.close()
    assert server.connections == 2


def large_below_kv_large(request: Request) -> Response:
    headers = {"Content-Type": "application/json"}
    if request.path.startswith("/v1/kv/data/large/"):
        return Response(200, BOMB, {**headers, "Content-Encoding": "gzip"})
    return Response(200, ANSWER, headers)


def test_a_path_whose_answer_is_too_large_fails_no_other_path() -> None:
    with WebServer(large_below_kv_large) as server:
        provider = patient(server.address, token="hvs.t")
        for number in range(4):
            with pytest.raises(ProviderLookupError, match="32 MiB"):
                provider.get(f"kv/large/{number}", {"k"})
            assert provider.get(f"kv/{number}", {"k"}).data == {"k": "v"}
        provider.close()


LISTS = b"[%b[]]" % (b"[]," * 1_000_000)


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        pytest.param(b'{"data":%b}' % LISTS, "more than 1,000,000 values", id="JSON"),
        pytest.param(LISTS, "more than 1,000,000 values", id="a list"),
    ],
)
def test_an_answer_of_too_many_values_is_refused_before_it_is_parsed(body: bytes, shown: str) -> None:
    with WebServer(lambda _: Response(200, body, {"Content-Type": "application/json"})) as server:
        provider = patient(server.address, token="hvs.t")
        with pytest.raises(ProviderLookupError, match=f"'kv/apps/db' with {shown}, more than a reference can read"):
            provider.get("kv/apps/db", {"k"})
        provider.close()


def test_a_login_that_is_answered_with_too_many_values_fails() -> None:
    with WebServer(lambda _: Response(200, LISTS, {"Content-Type": "application/json"})) as server:
        provider = patient(server.address, auth_type="approle", role_id="r", secret_id="s")
        with pytest.raises(ProviderLookupError, match="more than 1,000,000 values, which Vault does not do"):
            provider.get("kv/apps/db", {"k"})
        provider.close()


def test_a_secret_of_many_commas_is_read() -> None:
    text = "," * 1_000_001
    body = json.dumps({"data": {"data": {"k": text}, "metadata": {"version": 1}}}).encode()
    with WebServer(lambda _: Response(200, body, {"Content-Type": "application/json"})) as server:
        provider = patient(server.address, token="hvs.t")
        assert provider.get("kv/apps/db", {"k"}).data == {"k": text}
        provider.close()


class Raw:
    """What urllib3 would give."""

    status = 200

    def __init__(self, *pieces: bytes) -> None:
        self.is_closed = False
        self._pieces = pieces

    def stream(self, amount: int, *, decode_content: bool) -> Iterator[bytes]:
        yield from self._pieces

    def close(self) -> None:
        self.is_closed = True


def test_an_answer_of_the_largest_size_is_read() -> None:
    raw = Raw(b"12345", b"67890")
    bounded = Bounded(raw, most=10)
    assert b"".join(bounded.stream(5, decode_content=True)) == b"1234567890"
    assert bounded.status == 200
    assert not raw.is_closed


def test_a_byte_more_is_too_much_and_the_connection_is_closed() -> None:
    raw = Raw(b"12345", b"678901")
    with pytest.raises(AnswerTooLargeError):
        list(Bounded(raw, most=10).stream(5, decode_content=True))
    assert raw.is_closed
