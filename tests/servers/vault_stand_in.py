"""
A small Vault, in the process of the tests.

It answers what this project asks of Vault, as Vault 1.14 does; `tests/contract/test_vault_server.py` holds both to it.
It is no secret store: it compares tokens in plain time and keeps everything in memory.
"""

from __future__ import annotations

import json
import posixpath
import re
import threading
from urllib.parse import parse_qs, quote, unquote

from tests.servers.stand_in.answers import (
    HEADERS,
    Answer,
    Json,
    Refusal,
    bare,
    denied,
    denied_by_policy,
    response,
    unsupported,
    unsupported_in_public,
)
from tests.servers.stand_in.call import Call
from tests.servers.stand_in.logins import Login
from tests.servers.stand_in.state import MovableClock, State
from tests.servers.stand_in.system import System
from tests.servers.stand_in.tokens import Token
from tests.servers.stand_in.wrapping import Wrappings
from tests.servers.web import Request, Response

VERSION = "1.14.1"
PREFLIGHT = "sys/internal/ui/mounts/"
NO_ACCESS = 'preflight capability check returned 403, please ensure client\'s policies grant access to path "{}"'
TRUE = {"1", "t", "T", "true", "True", "TRUE"}
METHODS = {"GET": "GET", "LIST": "LIST", "POST": "POST", "PUT": "POST", "PATCH": "PATCH", "DELETE": "DELETE"}
WITHOUT_USE = {"HEAD", "OPTIONS"}
NOT_QUOTED = re.compile("%(?![0-9A-Fa-f]{2})")


class VaultStandIn:
    """
    The application: thread-safe, one request at a time.

    :param root_token: what the root token is
    """

    def __init__(self, root_token: str) -> None:
        self._lock = threading.RLock()
        self._state = State()
        self._state.tokens.root(root_token)
        self._system = System(self._state)
        self._wrappings = Wrappings(self._state.clock)

    @property
    def clock(self) -> MovableClock:
        """The server's time."""
        return self._state.clock

    def seal(self, *, sealed: bool) -> None:
        """Seal the server, or unseal it."""
        with self._lock:
            self._state.is_sealed = sealed

    def __call__(self, request: Request) -> Response:
        with self._lock:
            try:
                answered = self._answered(request)
            except Refusal as refusal:
                answered = bare({"errors": refusal.errors}, status=refusal.status)
        namespace = request.headers.get("x-vault-namespace")
        echoed = {"X-Vault-Namespace": namespace} if namespace else {}
        return Response(answered.status, answered.body, {**answered.headers, **echoed})

    def _answered(self, request: Request) -> Response:
        path = unquote(request.path)
        if NOT_QUOTED.search(request.path):
            return Response(400, b"400 Bad Request", {"Content-Type": "text/plain; charset=utf-8"})
        if not path.isprintable():
            return Response(400)
        if not path.startswith("/v1/"):
            raise Refusal(404)
        if _cleaned(path) != path:
            return _moved(_cleaned(path), request)
        query = {name: values[-1] for name, values in parse_qs(request.query, keep_blank_values=True).items()}
        path = path.removeprefix("/v1/")
        if path == "sys/health":
            return self._health(query)
        if path == "sys/seal-status":
            return self._seal_status()
        if path == "sys/init":
            return bare({"initialized": True})
        if self._state.is_sealed:
            raise Refusal(503, "Vault is sealed")
        return self._unsealed(path, query, request)

    def _unsealed(self, path: str, query: dict[str, str], request: Request) -> Response:
        if request.method not in {*METHODS, *WITHOUT_USE}:
            raise Refusal(405)
        method = "LIST" if request.method == "GET" and query.get("list") in TRUE else request.method
        call = Call(METHODS.get(method, method), "", path, query, _body(request), None)
        if call.method in {"POST", "PATCH"} and path.endswith("/"):
            raise Refusal(400, "cannot write to a path ending in '/'")
        if path == "sys/wrapping/lookup" and call.method == "POST":
            return response(self._wrappings.lookup(str(call.body.get("token") or "")))
        if path == "sys/wrapping/unwrap" and call.method == "POST":
            return self._wrappings.unwrap(str(call.body.get("token") or _token(request)))
        login = self._login(call)
        if login is not None:
            return response(login)
        token = self._state.tokens.use(_token(request))
        try:
            if path == PREFLIGHT.rstrip("/"):
                return response(self._seen_mounts(token))
            if path.startswith(PREFLIGHT):
                return response(self._preflight(call.below(PREFLIGHT, path.removeprefix(PREFLIGHT)), token))
            if not self._state.policies.allow(token.policies, method, path):
                raise denied_by_policy()
            if method in WITHOUT_USE:
                raise unsupported()
            served, ttl = self._served(call.of(token)), request.headers.get("x-vault-wrap-ttl")
            return self._wrappings.wrap(served, ttl=ttl, path=path) if ttl and served.status == 200 else served
        finally:
            self._state.tokens.done(token)

    def _served(self, call: Call) -> Response:
        kind, _, rest = call.path.partition("/")
        if kind == "sys":
            answer = self._system.answer(call.below("sys/", rest))
            return _with_top(answer) if self._system.is_repeated(rest) and answer.data else response(answer)
        return response((self._state.auth if kind == "auth" else self._state.mounts).answer(call))

    def _login(self, call: Call) -> Answer | None:
        """Answer a login; None for what is not one."""
        kind, _, path = call.path.partition("/")
        found = self._state.auth.find(path) if kind == "auth" else None
        if found is None:
            return None
        mount, method = found[0], found[1].engine
        inner = call.below(f"auth/{mount}", path.removeprefix(mount))
        if not isinstance(method, Login) or not method.is_login(inner.path):
            return None
        spec = method.login(inner)
        return self._state.tokens.auth(self._state.tokens.create(spec), warnings=spec.warnings())

    def _preflight(self, call: Call, token: Token) -> Answer:
        if not call.path:
            raise Refusal(404, "unsupported path")
        if call.method != "GET":
            raise unsupported_in_public()
        path = call.path.strip("/") + "/"
        table = self._state.auth if path.startswith("auth/") else self._state.mounts
        found = table.find(path.removeprefix(table.prefix).rstrip("/"))
        if found is None or not self._state.policies.touch(token.policies, table.prefix + found[0]):
            raise Refusal(403, NO_ACCESS.format(path))
        return Answer(found[1].state() | {"path": found[0]})

    def _seen_mounts(self, token: Token) -> Answer:
        """Return the mounts in which the token may do something."""
        kinds = {"secret": self._state.mounts, "auth": self._state.auth}
        seen = {
            kind: {
                path: mount.state()
                for path, mount in table
                if self._state.policies.touch(token.policies, table.prefix + path)
            }
            for kind, table in kinds.items()
        }
        return Answer(seen)

    def _health(self, query: dict[str, str]) -> Response:
        state = self._state
        name, status = ("sealedcode", 503) if state.is_sealed else ("activecode", 200)
        body = {
            "initialized": True,
            "sealed": state.is_sealed,
            "standby": state.is_sealed,
            "performance_standby": False,
            "replication_performance_mode": "unknown" if state.is_sealed else "disabled",
            "replication_dr_mode": "unknown" if state.is_sealed else "disabled",
            "server_time_utc": int(state.clock()),
            "version": VERSION,
        }
        return bare(body | self._cluster(), status=int(query.get(name, status)))

    def _seal_status(self) -> Response:
        body = {
            "type": "shamir",
            "initialized": True,
            "sealed": self._state.is_sealed,
            "t": 1,
            "n": 1,
            "progress": 0,
            "nonce": "",
            "version": VERSION,
            "build_date": "",
            "migration": False,
            "recovery_seal": False,
            "storage_type": "inmem",
        }
        return bare(body | self._cluster())

    def _cluster(self) -> Json:
        if self._state.is_sealed:
            return {}
        return {"cluster_name": "stand-in", "cluster_id": self._state.cluster_id}


def _cleaned(path: str) -> str:
    return posixpath.normpath(path) + ("/" if path.endswith("/") else "")


def _moved(path: str, request: Request) -> Response:
    target = quote(path) + (f"?{request.query}" if request.query else "")
    body = f'<a href="{target}">Moved Permanently</a>.\n\n'.encode()
    headers = {"Location": target, "Cache-Control": "no-store"}
    if request.method != "GET":
        return Response(301, b"", headers)
    return Response(301, body, {**headers, "Content-Type": "text/html; charset=utf-8"})


def _body(request: Request) -> Json:
    if request.method == "PATCH" and not request.headers.get("content-type"):
        raise Refusal(400, "mime: no media type")
    if request.headers.get("content-type") == "application/x-www-form-urlencoded":
        return {name: values[-1] for name, values in parse_qs(request.body.decode()).items()}
    try:
        read = json.JSONDecoder().raw_decode(request.body.decode())[0] if request.body else None
    except ValueError:
        raise Refusal(400, "error parsing JSON") from None
    if not isinstance(read, dict | None):
        raise Refusal(400, "error parsing JSON")
    return read or {}


def _token(request: Request) -> str:
    bearer = request.headers.get("authorization", "")
    token = request.headers.get("x-vault-token") or bearer.removeprefix("Bearer ")
    if not token:
        raise denied()
    return token.strip()


def _with_top(answer: Answer) -> Response:
    enveloped = json.loads(response(answer).body)
    return Response(answer.status, json.dumps({**enveloped, **(answer.data or {})}).encode() + b"\n", HEADERS)
