"""Another server, as an application: each request goes on to it, and its answer comes back unchanged."""

from __future__ import annotations

import contextlib
import http.client
import ssl
from collections import deque
from collections.abc import Iterator
from urllib.parse import urlsplit

from tests.limits import LONGEST
from tests.servers.web import DropConnection, Request, Response

HOP_BY_HOP = frozenset({"connection", "host", "keep-alive", "transfer-encoding", "content-length", "date", "server"})


class Upstream:
    """
    The server at ``address``; thread-safe. Its connections are kept for the next requests, until it is closed.

    :param tls: for https; None for the system's trust
    """

    def __init__(self, address: str, *, tls: ssl.SSLContext | None = None) -> None:
        self._address = urlsplit(address)
        self._tls = tls
        self._idle: deque[http.client.HTTPConnection] = deque()

    def __call__(self, request: Request) -> Response:
        target = request.path + (f"?{request.query}" if request.query else "")
        headers = {name: value for name, value in request.headers.items() if name not in HOP_BY_HOP}
        try:
            with self._connection() as connection:
                connection.request(request.method, target, body=request.body or None, headers=headers)
                answered = connection.getresponse()
                body = answered.read()
        except (OSError, http.client.HTTPException):
            raise DropConnection from None
        kept = {name: value for name, value in answered.getheaders() if name.lower() not in HOP_BY_HOP}
        return Response(answered.status, body, kept)

    def close(self) -> None:
        """Close the connections; no request may be on its way."""
        while self._idle:
            self._idle.pop().close()

    @contextlib.contextmanager
    def _connection(self) -> Iterator[http.client.HTTPConnection]:
        """Lend a connection; one that failed is not lent again."""
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._opened()
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)

    def _opened(self) -> http.client.HTTPConnection:
        host, port = self._address.hostname or "", self._address.port
        if self._address.scheme == "https":
            return http.client.HTTPSConnection(host, port, context=self._tls, timeout=LONGEST)
        return http.client.HTTPConnection(host, port, timeout=LONGEST)
