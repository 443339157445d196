"""A Vault that keeps its own account of logins and leases, by a clock that the test moves; it makes no connections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from json import dumps, loads
from typing import Any

import hvac

Json = dict[str, Any]

MOUNTS = "sys/internal/ui/mounts/"
UNKNOWN_TOKEN = {"errors": ["2 errors occurred:\n\t* permission denied\n\t* invalid token\n\n"]}


@dataclass(frozen=True, slots=True)
class Terms:
    """
    What is given out, in seconds.

    :param ttl: for how long, and for how long again at a renewal
    :param most: for how long at most; the same as ``ttl`` for what is not renewable
    """

    ttl: int
    most: int

    @property
    def is_renewable(self) -> bool:
        """Whether a renewal can lengthen it."""
        return self.most > self.ttl


@dataclass(slots=True)
class Given:
    """
    A login or a lease.

    :param of: the user of a login; the path of a lease
    :param token: the login of a lease
    :param renewed: when it was renewed
    """

    id: str
    of: str
    terms: Terms
    since: float
    expires: float
    token: str = ""
    renewed: list[float] = field(default_factory=list)
    is_revoked: bool = False

    def lives_at(self, now: float) -> bool:
        """Return whether it is still good."""
        return not self.is_revoked and now < self.expires


@dataclass(frozen=True, slots=True)
class Answered:
    """A response, as far as it is read."""

    status_code: int
    content: bytes
    headers: Json = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether it is a success."""
        return self.status_code < 400

    @property
    def text(self) -> str:
        """The body as a string."""
        return self.content.decode()

    def json(self) -> Json:
        """Return the body."""
        found: Json = loads(self.content)
        return found


class LeaseServer:
    """
    Answers logins of ``userpass``, reads of leases, and what renews, looks up and revokes them.

    :param clock: its time
    :param logins: user -> terms of its logins
    :param leases: path -> terms of its leases
    :ivar asked: what it was asked, and how often
    :ivar is_down: whether it answers nothing but 503
    """

    def __init__(self, clock: Callable[[], float], *, logins: dict[str, Terms], leases: dict[str, Terms]) -> None:
        self._clock = clock
        self._logins = logins
        self._leases = leases
        self.logins: dict[str, Given] = {}
        self.leases: dict[str, Given] = {}
        self.asked: Counter[str] = Counter()
        self.is_down = False

    def client(self, settings: Any) -> hvac.Client:
        """Return a client whose requests come here."""
        return hvac.Client(url=settings.url, token="", session=_Connections(self))

    def lives(self, lease: Given) -> bool:
        """Return whether the lease and the login it came with are still good."""
        return lease.lives_at(self._clock()) and self.logins[lease.token].lives_at(self._clock())

    def revoke(self, lease: Given) -> None:
        """End a lease, as an administrator would."""
        lease.is_revoked = True

    def answer(self, path: str, token: str, body: Json) -> tuple[int, Json]:
        """Return the status and the body for a request to ``path``."""
        self.asked["down" if self.is_down else _kind(path)] += 1
        if self.is_down:
            return 503, {}
        if path.startswith("auth/userpass/login/"):
            return 200, {"auth": self._auth(self._give(self.logins, path.rpartition("/")[2], self._logins))}
        login = self.logins.get(token)
        if login is None or not login.lives_at(self._clock()):
            return 403, UNKNOWN_TOKEN
        if path.startswith("auth/token/"):
            return self._of_token(path.removeprefix("auth/token/"), login)
        if path.startswith("sys/leases/"):
            return self._of_lease(path.removeprefix("sys/leases/"), body)
        if path.startswith(MOUNTS):
            return 200, {"data": {"path": "db/", "type": "database"}}
        if path not in self._leases:
            return 404, {"errors": []}
        lease = self._give(self.leases, path, self._leases, token=token)
        return 200, {**self._described(lease), "data": {"username": lease.id, "password": f"{lease.id}-password"}}

    def _of_token(self, what: str, login: Given) -> tuple[int, Json]:
        if what == "revoke-self":
            login.is_revoked = True
            return 204, {}
        if what == "renew-self":
            self._renew(login)
            return 200, {"auth": self._auth(login)}
        return 200, {"data": {"ttl": int(login.expires - self._clock())}}

    def _of_lease(self, what: str, body: Json) -> tuple[int, Json]:
        lease = self.leases[body["lease_id"]]
        if what == "revoke":
            lease.is_revoked = True
            return 204, {}
        if not self.lives(lease):
            return 400, {"errors": ["lease not found" if what == "renew" else "invalid lease"]}
        if what == "lookup":
            return 200, {"data": {"ttl": int(lease.expires - self._clock())}}
        self._renew(lease)
        return 200, self._described(lease)

    def _give(self, given: dict[str, Given], of: str, terms: dict[str, Terms], *, token: str = "") -> Given:
        now, own = self._clock(), terms[of]
        new = Given(f"{of}/{len(given)}", of, own, now, now + own.ttl, token)
        given[new.id] = new
        return new

    def _renew(self, given: Given) -> None:
        now = self._clock()
        given.expires = min(now + given.terms.ttl, given.since + given.terms.most)
        given.renewed.append(now)

    def _described(self, lease: Given) -> Json:
        return {
            "lease_id": lease.id,
            "lease_duration": int(lease.expires - self._clock()),
            "renewable": lease.terms.is_renewable,
        }

    def _auth(self, login: Given) -> Json:
        return {
            "client_token": login.id,
            "lease_duration": int(login.expires - self._clock()),
            "renewable": login.terms.is_renewable,
        }


class _Connections:
    """What a client has in place of a session of requests."""

    verify = True
    cert = None
    proxies = None

    def __init__(self, server: LeaseServer) -> None:
        self._server = server
        self.hooks: dict[str, list[Callable[[Answered], object]]] = {"response": []}

    def request(self, url: str, headers: Json, json: Json | None = None, **_: Any) -> Answered:
        status, body = self._server.answer(url.partition("/v1/")[2], headers.get("X-Vault-Token", ""), json or {})
        answered = Answered(status, dumps(body).encode())
        for see in self.hooks["response"]:
            see(answered)
        return answered

    def close(self) -> None:
        """Do nothing."""


def _kind(path: str) -> str:
    if path.startswith("auth/userpass"):
        return "login"
    if path.startswith(MOUNTS):
        return "mounts"
    return path if path.startswith(("auth/", "sys/")) else "read"
