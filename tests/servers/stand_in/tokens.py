"""Tokens and leases: who holds them, and until when."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.servers.stand_in.answers import Answer, Json, Refusal, capped, denied, identifier, timestamp

Clock = Callable[[], float]

DEFAULT_TTL = 2764800


@dataclass(frozen=True, slots=True)
class TokenSpec:
    """
    What is asked for when a token is made. Times are seconds.

    :param ttl: it lives that long after each renewal
    :param max_ttl: it lives that long at most; 0 for the server's own limit
    :param parent: the token that it dies with; None for none
    :param uses: how often it can be used; 0 for without end
    :param is_batch: it has no accessor, and can be neither renewed nor revoked
    """

    policies: Sequence[str] = ()
    ttl: int = 0
    max_ttl: int = 0
    explicit_max_ttl: int = 0
    period: int = 0
    uses: int = 0
    path: str = "auth/token/create"
    display_name: str = "token"
    entity: str = ""
    meta: Mapping[str, str] | None = None
    parent: str | None = field(default=None, repr=False)
    renewable: bool = True
    with_default: bool = True
    is_batch: bool = False

    @property
    def type(self) -> str:
        """What Vault calls this kind of token."""
        return "batch" if self.is_batch else "service"

    @property
    def can_be_renewed(self) -> bool:
        """Whether the token can live longer than at first."""
        return self.renewable and not self.is_batch

    def life(self) -> int:
        """Return the initial lifetime of the token."""
        ttl = self.period or self.ttl or DEFAULT_TTL
        return min(ttl, self.max_ttl) if self.max_ttl else ttl

    def warnings(self) -> list[str]:
        """Warn of a life that was asked for and is not given."""
        return capped(self.period or self.ttl or DEFAULT_TTL, self.max_ttl or sys.maxsize, self.max_ttl)


@dataclass(slots=True)
class Token:
    """A token that has been given out; ``expires`` is None for one that never ends."""

    id: str = field(repr=False)
    spec: TokenSpec = field(repr=False)
    issued: float
    expires: float | None
    ttl: int
    accessor: str
    uses: int = 0
    renewed: float | None = None

    @property
    def policies(self) -> list[str]:
        """The names of its policies."""
        return sorted({*self.spec.policies, *(["default"] if self.spec.with_default else [])})

    @property
    def display_name(self) -> str:
        """What it is called in names of users that are made for it."""
        return self.spec.display_name


@dataclass(slots=True)
class Lease:
    """A secret that ends. Times are seconds."""

    id: str
    token: str = field(repr=False)
    ttl: int
    max_ttl: int
    issued: float
    expires: float
    renewed: float | None = None


class Tokens:
    """The tokens of a server and what was leased with them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._tokens: dict[str, Token] = {}
        self.leases: dict[str, Lease] = {}

    def root(self, text: str) -> None:
        """Create the token that may do everything and never expires."""
        spec = TokenSpec(["root"], path="auth/token/root", display_name="root", renewable=False, with_default=False)
        self._tokens[text] = Token(text, spec, self._clock(), None, 0, identifier(24))

    def create(self, spec: TokenSpec) -> Token:
        """Issue a token."""
        now, life = self._clock(), spec.life()
        name, accessor = ("hvb", "") if spec.is_batch else ("hvs", identifier(24))
        token = Token(f"{name}.{identifier(90)}", spec, now, now + life, life, accessor, uses=spec.uses)
        self._tokens[token.id] = token
        return token

    def use(self, text: str) -> Token:
        """Return the token ``text`` for one request, or refuse it."""
        self.expire()
        token = self._tokens.get(text)
        if token is None:
            raise denied()
        token.uses -= 1 if token.spec.uses else 0
        return token

    def done(self, token: Token) -> None:
        """Revoke ``token`` if that was its last use."""
        if token.spec.uses and token.uses <= 0:
            self.revoke(token)

    def find(self, *, id: str = "", accessor: str = "") -> Token | None:  # noqa: A002 - as Vault calls it
        """Return a live token by its text or its accessor."""
        self.expire()
        by_accessor = (token for token in self._tokens.values() if token.accessor == accessor != "")
        return self._tokens.get(id) or next(by_accessor, None)

    def accessors(self) -> list[str]:
        """Return the accessors of all live tokens."""
        self.expire()
        return [token.accessor for token in self._tokens.values() if token.accessor]

    def renew(self, token: Token, increment: int) -> Answer:
        """Let ``token`` live longer, never past its maximum."""
        if token.expires is None:
            raise Refusal(400, "invalid lease ID")
        if not token.spec.renewable:
            raise Refusal(400, "lease is not renewable")
        now, asked = self._clock(), token.spec.period or increment or token.ttl
        most = asked if token.spec.period else int(token.issued + (token.spec.max_ttl or DEFAULT_TTL) - now + 0.999)
        token.expires, token.renewed = now + min(asked, most), now
        return self.auth(token, warnings=capped(asked, most, token.spec.max_ttl or DEFAULT_TTL))

    def revoke(self, token: Token) -> None:
        """End ``token``, its children and what was leased with them."""
        self._tokens.pop(token.id, None)
        self.leases = {name: lease for name, lease in self.leases.items() if lease.token != token.id}
        for child in [one for one in self._tokens.values() if one.spec.parent == token.id]:
            self.revoke(child)

    def lease(self, token: Token, path: str, *, ttl: int, max_ttl: int) -> Lease:
        """
        Lease what was read at ``path``; it ends with ``token``.

        The lease of a batch token says so from the start; that of another token does not.
        """
        now = self._clock()
        if token.spec.is_batch and token.expires is not None:
            ttl = min(ttl, int(token.expires - now))
        lease = Lease(f"{path}/{identifier(24)}", token.id, ttl, max_ttl, now, now + ttl)
        self.leases[lease.id] = lease
        return lease

    def renew_lease(self, name: str, increment: int) -> Answer:
        """Let a lease live longer, never past its maximum."""
        self.expire()
        lease = self.leases.get(name)
        if lease is None:
            raise Refusal(400, "lease not found")
        now, asked = self._clock(), increment or lease.ttl
        most = int(lease.issued + lease.max_ttl - now + 0.999)
        lease.expires, lease.renewed = now + min(asked, most), now
        warnings = capped(asked, most, lease.max_ttl)
        return Answer(lease_id=lease.id, lease_duration=min(asked, most), renewable=True, warnings=warnings)

    def described_lease(self, name: str) -> Json:
        """Answer a look-up of a lease."""
        self.expire()
        lease = self.leases.get(name)
        if lease is None:
            raise Refusal(400, "invalid lease")
        return {
            "id": lease.id,
            "issue_time": timestamp(lease.issued),
            "expire_time": timestamp(lease.expires),
            "last_renewal": None if lease.renewed is None else timestamp(lease.renewed),
            "renewable": True,
            "ttl": self._seconds_left(lease.expires),
        }

    def forget_leases(self, prefix: str) -> None:
        """End the leases whose ids start with ``prefix``."""
        self.leases = {name: lease for name, lease in self.leases.items() if not name.startswith(prefix)}

    def expire(self) -> None:
        """Let go of what has ended."""
        now = self._clock()
        for token in [one for one in self._tokens.values() if one.expires is not None and one.expires <= now]:
            self.revoke(token)
        self.leases = {name: lease for name, lease in self.leases.items() if lease.expires > now}

    def auth(self, token: Token, *, warnings: Sequence[str] = ()) -> Answer:
        """Answer a login or a renewal."""
        expires, spec = token.expires, token.spec
        left = 0 if expires is None else round(expires - self._clock())
        auth = {
            "client_token": token.id,
            "accessor": token.accessor,
            "policies": token.policies,
            "token_policies": token.policies,
            "metadata": dict(spec.meta) if spec.meta else None,
            "lease_duration": left,
            "renewable": spec.can_be_renewed,
            "entity_id": spec.entity,
            "token_type": spec.type,
            "orphan": spec.parent is None,
            "mfa_requirement": None,
            "num_uses": spec.uses,
        }
        return Answer(auth=auth, warnings=warnings)

    def description(self, token: Token) -> Json:
        """Answer a look-up of ``token``."""
        spec = token.spec
        described: Json = {
            "accessor": token.accessor,
            "creation_time": int(token.issued),
            "creation_ttl": token.ttl,
            "display_name": spec.display_name,
            "entity_id": spec.entity,
            "expire_time": None if token.expires is None else timestamp(token.expires),
            "explicit_max_ttl": spec.explicit_max_ttl,
            "id": token.id,
            "meta": dict(spec.meta) if spec.meta else None,
            "num_uses": max(token.uses, 0),
            "orphan": spec.parent is None,
            "path": spec.path,
            "policies": token.policies,
            "ttl": self._seconds_left(token.expires),
            "type": spec.type,
        }
        if token.expires is not None:
            described |= {"issue_time": timestamp(token.issued), "renewable": spec.can_be_renewed}
        if token.renewed is not None:
            described |= {"last_renewal": timestamp(token.renewed), "last_renewal_time": int(token.renewed)}
        return described | ({"period": spec.period} if spec.period else {})

    def _seconds_left(self, expires: float | None) -> int:
        return 0 if expires is None else max(0, int(expires - round(self._clock())))


def new_entity() -> str:
    """Return the identity of a new login."""
    return str(uuid.uuid4())
