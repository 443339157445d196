"""What a test does to the requests on their way to a server: watch, delay and fail them."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from tests.servers.web import Application, DropConnection, Request, Response

PREFIX = "/v1/"
LOGIN_WORDS = ("/login", "/login/")


@dataclass(frozen=True, slots=True)
class SeenRequest:
    """
    A request that went through, as a test may see it. It holds no token and no body.

    :param path: without ``/v1/``, unquoted
    :param raw_path: as it was sent
    :param token: sixteen hexadecimal digits of the token's SHA-256; empty for none
    :param status: of the answer; 0 where the connection was dropped
    :param started: ``time.monotonic()`` when it came
    :param ended: ``time.monotonic()`` when it was answered
    """

    method: str
    path: str
    query: str
    namespace: str
    token: str
    status: int
    started: float = field(repr=False)
    ended: float = field(repr=False)
    raw_path: str = field(repr=False)
    headers: frozenset[str] = field(repr=False)

    @property
    def is_login(self) -> bool:
        """Whether it asked for a token."""
        return self.path.startswith("auth/") and any(word in self.path for word in LOGIN_WORDS)


@dataclass(slots=True)
class _Fault:
    left: int
    what: int | str
    body: bytes
    headers: Mapping[str, str]
    path: str


class Front:
    """
    An application in front of another one; thread-safe.

    :param application: what answers the requests that are let through
    """

    def __init__(self, application: Application) -> None:
        self._application = application
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._seen: list[SeenRequest] = []
        self._faults: list[_Fault] = []
        self._delay = 0.0
        self._arrived = 0

    def __call__(self, request: Request) -> Response:
        started = time.monotonic()
        with self._lock:
            self._arrived += 1
        status = 0
        try:
            response = self._response(request)
            status = response.status
        finally:
            self._remember(request, status, started)
        return response

    def requests(self) -> tuple[SeenRequest, ...]:
        """Return the requests that were answered since the last reset, in order of their answers."""
        with self._lock:
            return tuple(self._seen)

    def arrived(self) -> int:
        """Return how many requests have come since the last reset, those that hang among them."""
        with self._lock:
            return self._arrived

    def forget(self) -> None:
        """Forget the requests seen so far."""
        with self._lock:
            self._seen.clear()
            self._arrived = 0

    def reset(self) -> None:
        """Forget the requests, the delay and the faults."""
        with self._lock:
            self._seen.clear()
            self._faults.clear()
            self._delay = 0.0
            self._arrived = 0

    def delay(self, milliseconds: float) -> None:
        """Answer each request that much later."""
        with self._lock:
            self._delay = milliseconds / 1000

    def fail(
        self, times: int, what: int | str, *, body: str = "", headers: Mapping[str, str] | None = None, path: str = ""
    ) -> None:
        """
        Fail the next requests whose path starts with ``path``, in place of answering them.

        :param what: a status, or ``hang``, ``reset``, ``cut`` or ``redirect``
        :param body: of the answer; for ``redirect``, the address to go to
        """
        fault = _Fault(times, what, body.encode(), dict(headers or {}), path)
        with self._lock:
            self._faults.append(fault)

    def close(self) -> None:
        """Let go of the requests that hang."""
        self._closed.set()

    def _response(self, request: Request) -> Response:
        with self._lock:
            delay, fault = self._delay, self._fault(_inner_path(request))
        if delay:
            self._closed.wait(delay)
        return self._application(request) if fault is None else self._failure(fault, request)

    def _fault(self, path: str) -> _Fault | None:
        for fault in self._faults:
            if fault.left > 0 and path.startswith(fault.path):
                fault.left -= 1
                return fault
        return None

    def _failure(self, fault: _Fault, request: Request) -> Response:
        if isinstance(fault.what, int):
            return Response(fault.what, fault.body, {"Content-Type": "application/json", **fault.headers})
        if fault.what == "redirect":
            target = fault.body.decode().rstrip("/") + request.path
            return Response(307, b"", {"Location": target, **fault.headers})
        if fault.what == "cut":
            whole = self._application(request)
            return Response(whole.status, whole.body, {**whole.headers, **fault.headers}, is_cut=True)
        if fault.what == "hang":
            self._closed.wait()
        raise DropConnection

    def _remember(self, request: Request, status: int, started: float) -> None:
        token = request.headers.get("x-vault-token", "")
        seen = SeenRequest(
            method=request.method,
            path=_inner_path(request),
            query=request.query,
            namespace=request.headers.get("x-vault-namespace", ""),
            token=hashlib.sha256(token.encode()).hexdigest()[:16] if token else "",
            status=status,
            started=started,
            ended=time.monotonic(),
            raw_path=request.path,
            headers=frozenset(request.headers),
        )
        with self._lock:
            self._seen.append(seen)


def _inner_path(request: Request) -> str:
    return unquote(request.path).removeprefix(PREFIX)
