"""A small HTTP server whose application is one function: request in, response out."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from airflow_config_providers.core.closed_on_exit import ClosedOnExit

LINGER_ZERO = struct.pack("ii", 1, 0)


class DropConnection(Exception):  # noqa: N818 - an outcome, not an error of ours
    """Raised by an application: drop the connection without an answer."""


@dataclass(frozen=True, slots=True)
class Request:
    """
    One HTTP request.

    :param path: as it was sent, still quoted, without the query
    :param query: what follows the question mark; empty for none
    :param headers: names in lower case
    """

    method: str
    path: str
    query: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Response:
    """
    One HTTP response.

    :param is_cut: promise the whole body, send half of it, and drop the connection
    """

    status: int
    body: bytes = field(default=b"", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    is_cut: bool = False


Application = Callable[[Request], Response]


class WebServer(ClosedOnExit):
    """
    Serves an application on 127.0.0.1, each connection in a thread, until it is closed.

    :param application: called from many threads at once
    :param tls: serve https with it; None for http
    """

    def __init__(self, application: Application, *, tls: ssl.SSLContext | None = None) -> None:
        self._server = _Server(application, tls)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), name="web-server", daemon=True)
        self._thread.start()
        scheme = "http" if tls is None else "https"
        self.address = f"{scheme}://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        """Drop every connection and end every thread."""
        self._server.shutdown()
        self._server.drop_connections()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # so that server_close waits for them
    request_queue_size = 256

    def __init__(self, application: Application, tls: ssl.SSLContext | None) -> None:
        self.application = application
        self._tls = tls
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), _Handler)

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, peer = super().get_request()
        if self._tls is not None:  # the handshake waits for the connection's own thread
            connection = self._tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        with self._lock:
            self._open.add(connection)
        return connection, peer

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def drop_connections(self) -> None:
        with self._lock:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    socket.socket.shutdown(connection, socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that go away, or do not trust us, are part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    """Hands each request, of any method, to the application."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: _Server

    def __getattr__(self, name: str) -> Callable[[], None]:
        if name.startswith("do_"):
            return self._answer
        raise AttributeError(name)

    def _answer(self) -> None:
        path, _, query = self.path.partition("?")
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(headers.get("content-length") or 0))
        try:
            response = self.server.application(Request(self.command, path, query, headers, body))
        except DropConnection:
            self._reset()
        else:
            self._send(response)

    def _send(self, response: Response) -> None:
        self.send_response(response.status)
        for name, value in response.headers.items():
            self.send_header(name, value)
        if response.status != 204 and "content-length" not in {name.lower() for name in response.headers}:
            self.send_header("Content-Length", str(len(response.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(response.body[: len(response.body) // 2] if response.is_cut else response.body)
        if response.is_cut:
            self.wfile.flush()
            self.close_connection = True

    def _reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_ZERO)
        self.close_connection = True
        socket.socket.close(self.connection)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the parent's name
        """Print nothing."""
