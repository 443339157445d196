"""Google's Dataproc on loopback, over gRPC with TLS, behind the proxy that Google's client is led to it by."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

from tests.servers.certificates import Certificate

SERVICE = "google.cloud.dataproc.v1"
HOST = "r-dataproc.googleapis.com"
Answers = Mapping[str, tuple[Any, Callable[[Any], Any]]]


class RefusedCallError(Exception):
    """Raised by an answer: the call is refused with this text."""


class Tunnel:
    """An HTTP proxy that leads every CONNECT to one port of loopback, until it is closed."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._start(self._accept)

    def close(self) -> None:
        """Drop every connection and end every thread."""
        for each in [self._listening, *self._sockets]:
            _shut(each)
        for thread in self._threads:
            thread.join()
        for each in [self._listening, *self._sockets]:
            each.close()

    def _start(self, run: Callable[..., None], *args: Any) -> None:
        thread = threading.Thread(target=run, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            head = b""
            while b"\r\n\r\n" not in head:
                head += client.recv(4096)
            assert head.startswith(f"CONNECT {HOST}:443 ".encode())
            server = socket.create_connection(("127.0.0.1", self._port))
            self._sockets += [client, server]
            client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            self._start(_pass_on, client, server)
            self._start(_pass_on, server, client)


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):  # the other side is gone
        while data := source.recv(65536):
            target.sendall(data)
    _shut(target)


def _shut(connection: socket.socket) -> None:
    with suppress(OSError):  # the other side was first
        connection.shutdown(socket.SHUT_RDWR)


class Dataproc:
    """
    Keeps what it is sent, and answers each call by a function of the request.

    :param answers: call, such as ``JobController/SubmitJob`` -> (class of the request, what answers it)
    """

    def __init__(self, answers: Answers, certificate: Certificate) -> None:
        import grpc

        self.requests: list[Any] = []
        self._answers = answers
        self._threads = ThreadPoolExecutor(4)
        pair = (certificate.key.read_bytes(), certificate.certificate.read_bytes())
        self._server = grpc.server(self._threads)
        self.port = self._server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([pair]))
        self._server.add_generic_rpc_handlers([self._handlers(service) for service in self._services()])
        self._server.start()

    def close(self) -> None:
        """End the server and its threads."""
        self._server.stop(None).wait()
        self._threads.shutdown()

    def _services(self) -> set[str]:
        return {call.partition("/")[0] for call in self._answers}

    def _handlers(self, service: str) -> Any:
        import grpc

        methods = {
            call.partition("/")[2]: grpc.unary_unary_rpc_method_handler(
                self._answering(answer), request_deserializer=kind.deserialize, response_serializer=_serialized
            )
            for call, (kind, answer) in self._answers.items()
            if call.startswith(f"{service}/")
        }
        return grpc.method_handlers_generic_handler(f"{SERVICE}.{service}", methods)

    def _answering(self, answer: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
        import grpc

        def run(request: Any, context: Any) -> Any:
            self.requests.append(request)
            try:
                return answer(request)
            except RefusedCallError as refused:
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(refused))

        return run


def _serialized(message: Any) -> bytes:
    data: bytes = (
        message.SerializeToString() if hasattr(message, "SerializeToString") else type(message).serialize(message)
    )
    return data


@contextmanager
def serve_dataproc(answers: Answers, certificate: Certificate) -> Iterator[tuple[list[Any], Mapping[str, str]]]:
    """
    Serve the region ``r``.

    Gives what is asked, and the environment that leads Google's client here. gRPC reads the certificate that this names
    once in a process.

    :param certificate: for ``HOST``
    """
    server = Dataproc(answers, certificate)
    tunnel = Tunnel(server.port)
    environ = {
        "grpc_proxy": tunnel.address,
        "no_grpc_proxy": "",
        "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": str(certificate.certificate),
    }
    try:
        yield server.requests, environ
    finally:
        tunnel.close()
        server.close()
