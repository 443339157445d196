"""
Connections that limit the time and the size of a whole answer, so that no server hangs us or fills our memory.

What ``requests`` calls a timeout is the longest silence: a server that sends a byte now and then holds it forever.
A failure before a request is sent can be distinguished from one after it.
"""

from __future__ import annotations

import io
import ssl
import time
from collections.abc import Iterator
from contextlib import suppress
from http import HTTPStatus
from http.client import HTTPResponse
from typing import TYPE_CHECKING, Any, Final

from requests import Session
from requests.adapters import HTTPAdapter
from requests.exceptions import InvalidHeader
from requests.utils import DEFAULT_CA_BUNDLE_PATH
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import ConnectTimeoutError, HeaderParsingError, NewConnectionError
from urllib3.util.response import assert_header_parsing
from urllib3.util.ssl_ import create_urllib3_context, resolve_cert_reqs

from airflow_config_providers.core.document import MOST_VALUES, has_too_many_values
from airflow_config_providers.providers.vault.faults import MEBIBYTES, AnswerTooLargeError, UnreadableAnswerError

if TYPE_CHECKING:
    import socket

    from requests import Response

MOST: Final = MEBIBYTES * 1024 * 1024
MOST_ON_THE_WAY: Final = 2 * MOST
"""The most bytes of an answer on the wire, with headers and the frames of chunks."""

_INTERIM: Final = frozenset(range(100, 200)) - {HTTPStatus.SWITCHING_PROTOCOLS}
"""The statuses of answers that another one follows, such as 103 for early hints."""


class BoundedSession(Session):
    """Sends requests and follows no redirects; an answer of too many values raises ``AnswerTooLargeError``."""

    def send(self, *args: Any, **kwargs: Any) -> Response:  # noqa: D102 - as the parent
        response = super().send(*args, **kwargs)  # the hooks have seen its status, whatever its body is
        if has_too_many_values(response.content):
            raise AnswerTooLargeError(f"more than {MOST_VALUES:,} values")
        return response

    def resolve_redirects(self, *_: Any, **__: Any) -> Iterator[Any]:  # type: ignore[override]  # nothing is used
        """Yield nothing: what requests would yield is where a redirect leads to, which can be no address."""
        yield from ()


class BoundedAdapter(HTTPAdapter):
    """
    Sends requests whose timeout limits the whole answer, except through SOCKS proxies.

    Reading an answer that is too large raises ``AnswerTooLargeError``. One whose lengths make no sense raises
    ``UnreadableAnswerError``.
    """

    def send(self, *args: Any, **kwargs: Any) -> Response:  # noqa: D102 - as the parent
        with suppress(InvalidHeader):  # of the answer: those of the request were checked before
            return super().send(*args, **kwargs)
        raise UnreadableAnswerError("headers")

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:  # noqa: D102 - as the parent
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = _POOLS

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> Any:  # noqa: D102 - as the parent
        manager = super().proxy_manager_for(proxy, **kwargs)
        if not proxy.lower().startswith("socks"):
            manager.pool_classes_by_scheme = _POOLS
        return manager

    def build_response(self, req: Any, resp: Any) -> Any:  # noqa: D102 - as the parent
        response = super().build_response(req, resp)
        response.raw = Bounded(resp)
        return response


class Bounded:
    """
    A response of urllib3 whose ``stream`` ends with an error if it is too large, counted after decompression.

    :param most: bytes
    """

    def __init__(self, raw: Any, most: int = MOST) -> None:
        self._raw = raw
        self._most = most

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)

    def stream(self, *args: Any, **kwargs: Any) -> Iterator[bytes]:
        """
        Yield the pieces of the answer.

        :raises AnswerTooLargeError: there are too many; the connection is closed
        :raises UnreadableAnswerError: the length of one makes no sense, such as a negative one
        """
        left = self._most
        for piece in _readable(self._raw.stream(*args, **kwargs)):
            left -= len(piece)
            if left < 0:
                self._raw.close()
                raise AnswerTooLargeError
            yield piece


def _readable(pieces: Iterator[bytes]) -> Iterator[bytes]:
    with suppress(ValueError):
        yield from pieces
        return
    raise UnreadableAnswerError("a body")


class _Timed(io.RawIOBase):
    """The bytes from a socket, until its timeout has passed since this was created, or there are too many."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket) -> None:
        self._raw = raw
        self._sock = sock
        self._limit = sock.gettimeout()
        self._end = None if self._limit is None else time.monotonic() + self._limit
        self._left = MOST_ON_THE_WAY

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        count = self._read(buffer)
        self._left -= count or 0
        if self._left < 0:  # such as data that decompresses to nothing
            raise AnswerTooLargeError
        return count

    def _read(self, buffer: Any) -> int | None:
        if self._end is None:
            return self._raw.readinto(buffer)
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._sock.settimeout(left)
        try:
            return self._raw.readinto(buffer)
        finally:
            with suppress(OSError):  # closed by another thread
                self._sock.settimeout(self._limit)

    def close(self) -> None:
        if not self.closed:
            self._raw.close()
        super().close()


class _TimedResponse(HTTPResponse):
    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self.fp = io.BufferedReader(_Timed(self.fp.detach(), sock))

    def begin(self) -> None:
        """
        Read the headers of the answer proper, and refuse those that urllib3 cannot parse: it would log what they say.

        If an interim answer were taken for it, the answer proper would be that to the next request on the connection.
        """
        super().begin()
        while self.status in _INTERIM:
            self.headers = None  # type: ignore[assignment]  # which has it read on; typeshed does not know that
            super().begin()
        self.will_close |= self.status == HTTPStatus.SWITCHING_PROTOCOLS
        with suppress(HeaderParsingError):
            assert_header_parsing(self.msg)
            return
        raise UnreadableAnswerError("headers")


class _TimedConnection(HTTPConnection):
    response_class = _TimedResponse


class _TimedTlsConnection(HTTPSConnection):
    response_class = _TimedResponse

    def connect(self) -> None:
        """Connect; a failure of TLS or a proxy's tunnel would otherwise look as if a request had been sent."""
        try:
            self._use_own_context()
            super().connect()
        except ssl.SSLError:
            raise
        except TimeoutError as error:
            raise ConnectTimeoutError(self, "TLS did not begin in time") from error
        except OSError as error:
            raise NewConnectionError(self, "TLS did not begin") from error

    def _use_own_context(self) -> None:
        """Take a context of this connection: some versions of requests pass on one that they made when imported."""
        context = _context(self.cert_reqs)
        has_ca = self.ca_certs or self.ca_cert_dir or self.ca_cert_data
        if context.verify_mode != ssl.CERT_NONE and not has_ca:  # then that one has the usual CAs
            self.ca_certs = DEFAULT_CA_BUNDLE_PATH
        self.ssl_context = context


def _context(cert_reqs: int | str | None) -> ssl.SSLContext:
    """Return the usual context, without SSLKEYLOGFILE: with the keys in it, others could read what Vault answers."""
    context = create_urllib3_context(cert_reqs=resolve_cert_reqs(cert_reqs))
    context.keylog_filename = None  # type: ignore[assignment]  # which ends it; typeshed does not know that
    return context


class _TimedPool(HTTPConnectionPool):
    ConnectionCls = _TimedConnection


class _TimedTlsPool(HTTPSConnectionPool):
    ConnectionCls = _TimedTlsConnection


_POOLS = {"http": _TimedPool, "https": _TimedTlsPool}
