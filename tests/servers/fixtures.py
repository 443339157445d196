"""
The fixture ``vault``: each test that asks for it runs on a stand-in, and once more on a real Vault.

``vault`` is a `VaultServer` of the test's own. What the code under test needs::

    vault.address, vault.root_token          # the code under test connects here: what it sends is watched
    vault.kv2, vault.kv1, vault.database     # names of mounts that only this test has, without slashes; made when named
    vault.https                              # .address and .ca_file: the same server with a certificate of its own

What a test sets up (none of it is watched, delayed or failed, because it does not go through ``vault.address``)::

    vault.admin                              # an hvac.Client with the root token
    vault.put("apps/db", {"password": "x"})  # a version in KV v2; gives its number
    vault.put_v1("apps/db", {...})           # the same in KV v1
    vault.creds(ttl=60, max_ttl=600)         # a database role; gives the path to read, "database-3f2a/creds/app"
    vault.policy(f"{vault.kv2}/data/apps/*") # a policy that reads these paths, or {path: capabilities}; gives its name
    vault.token(*paths, ttl=3600)            # a token with such a policy; a path for every thing: "*", also the default
    vault.approle(*paths, ttl=3600)          # .role_id .secret_id     at the mount approle/
    vault.unwrapped(token)                   # the data in a wrapped answer
    vault.userpass(*paths, ttl=3600)         # .username .password     at the mount userpass/
    vault.jwt(*paths, ttl=3600)              # .mount .role .jwt()     a mount of its own; jwt(exp=...) sets claims
    vault.kubernetes(*paths, ttl=3600)       # .mount .role .jwt()     the same, with tokens of a service account

What a test does to the requests, and asks afterwards::

    vault.requests()                         # .method .path .query .namespace .token (a hash) .status .is_login of each
    vault.reset()                            # forget the requests; no more delays and faults
    vault.delay(50)                          # milliseconds, for each request from now on
    vault.fail(2, 503)                       # the next 2 requests; body="...", headers={...}, path="secret/" (a prefix)
    vault.fail(1, "hang")                    # never answered, until the test ends
    vault.fail(1, "reset")                   # the connection is reset
    vault.fail(1, "cut")                     # it is answered, and the connection ends halfway through the body
    vault.fail(1, "redirect", body="http://127.0.0.1:1")      # 307 to the same path of that server
    vault.advance(2)                         # seconds pass: at once on the stand-in, by waiting on a real Vault
    vault.sealed()                           # a context manager: sealed inside
    vault.live_tokens()                      # accessors of the tokens given out by this test's roles that still live
    vault.live_leases()                      # ids of the leases of vault.database that still live
    vault.kind                               # "stand-in" or "real"

``shared_vault`` is one for all tests of a file.

A test that a server cannot do is skipped in the call that needs it. ``real`` is the server at ``VAULT_ADDR`` with
``VAULT_TOKEN`` where both are set, else the one that ``make vault-server`` builds.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.limits import LONGEST
from tests.servers.build import built_binary
from tests.servers.certificates import Certificate, self_signed
from tests.servers.direct import direct_session, near_session
from tests.servers.front import Front, SeenRequest
from tests.servers.service_accounts import AUDIENCE, NAMESPACE, ServiceAccount, Signer, TokenReview
from tests.servers.upstream import Upstream
from tests.servers.vault_process import VaultAddress, VaultProcess
from tests.servers.vault_stand_in import VaultStandIn
from tests.servers.web import Application, WebServer

if TYPE_CHECKING:
    import hvac
    import requests

Paths = str | Mapping[str, Sequence[str]]

LONGEST_WAIT = 5
VAULTS = ("stand-in", pytest.param("real", marks=pytest.mark.vault))
HOW_TO_GET_IT = "no real Vault: VAULT_TEST_SERVER=build builds one (needs Go), or set VAULT_ADDR and VAULT_TOKEN"


@dataclass(frozen=True, slots=True)
class AppRole:
    """What a job logs in with at ``approle/``."""

    name: str
    role_id: str
    secret_id: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class UserPass:
    """What a user logs in with at ``userpass/``."""

    username: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class JwtRole:
    """What a job logs in with at ``mount``, a method of type ``jwt`` or ``kubernetes``."""

    mount: str
    role: str
    signer: Signer = field(repr=False)
    claims: Mapping[str, Any] = field(default_factory=dict)

    def jwt(self, **claims: Any) -> str:
        """Sign a new token."""
        return self.signer.sign({**self.claims, **claims})


@dataclass(frozen=True, slots=True)
class Https:
    """The same server, with TLS."""

    address: str
    ca_file: Path


class VaultServer:
    """
    A Vault for one test; the top of this module describes it.

    :param kind: ``stand-in`` or ``real``
    :param application: answers the code under test
    :param at: the server itself, without what a test does to requests
    :param folder: for files of the test
    """

    def __init__(self, kind: str, application: Application, at: VaultAddress, folder: Path) -> None:
        self.kind = kind
        self.root_token = at.root_token
        self._at = at
        self._stand_in = application if isinstance(application, VaultStandIn) else None
        self._folder = folder
        self._front = Front(application)
        self._servers = [WebServer(self._front)]
        self._name = secrets.token_hex(4)
        self._undo = contextlib.ExitStack()
        self._policies: list[str] = []
        self.address = self._servers[0].address

    @cached_property
    def admin(self) -> hvac.Client:
        """A client with the root token; its requests are neither watched nor failed."""
        import hvac

        return hvac.Client(url=self._at.address, token=self.root_token, verify=_trust(), session=self._session())

    @cached_property
    def kv2(self) -> str:
        """A KV engine, version 2."""
        mount = self._mounted("kv2", type="kv", options={"version": "2"})
        self._wait_for(mount)
        return mount

    @cached_property
    def kv1(self) -> str:
        """A KV engine, version 1."""
        return self._mounted("kv1", type="kv", options={"version": "1"})

    @cached_property
    def database(self) -> str:
        """A database engine; `creds` gives it roles."""
        import hvac

        mount = self._mounted("database", type="database")
        try:
            self.admin.write_data(f"{mount}/config/memory", data={"plugin_name": "memory", "allowed_roles": "*"})
        except hvac.exceptions.VaultError:
            if not (self.kind == "real" and _is_elsewhere()):
                raise
            pytest.skip("this Vault has no database without a server: ours has one, named memory")
        return mount

    @cached_property
    def https(self) -> Https:
        """The same server, with the same controls, behind TLS."""
        self._servers.append(WebServer(self._front, tls=self._certificate.server_context()))
        return Https(self._servers[-1].address, self._certificate.certificate)

    def put(self, path: str, data: Mapping[str, Any]) -> int:
        """Write a version to KV v2 and give its number."""
        written = self.admin.write_data(f"{self.kv2}/data/{path}", data={"data": dict(data)})
        return int(written["data"]["version"])

    def put_v1(self, path: str, data: Mapping[str, Any]) -> None:
        """Write to KV v1."""
        self.admin.write_data(f"{self.kv1}/{path}", data=dict(data))

    def creds(self, *, ttl: int = 3600, max_ttl: int = 86400) -> str:
        """Create a role of the database, and return the path of its credentials."""
        role = {"db_name": "memory", "creation_statements": "CREATE", "default_ttl": ttl, "max_ttl": max_ttl}
        self.admin.write_data(f"{self.database}/roles/app", data=role)
        return f"{self.database}/creds/app"

    def policy(self, *paths: Paths) -> str:
        """Create a policy that may read ``paths``, or do what the mappings say, and return its name."""
        rules: dict[str, Any] = {}
        for given in paths or ("*",):
            granted = {given: ["read", "list"]} if isinstance(given, str) else given
            rules |= {path: {"capabilities": list(words)} for path, words in granted.items()}
        name = f"test-{self._name}-{len(self._policies)}"
        self.admin.sys.create_or_update_acl_policy(name, json.dumps({"path": rules}))
        self._policies.append(name)
        return name

    def token(self, *paths: Paths, ttl: int = 3600, **more: Any) -> str:
        """Return a token with a policy for ``paths``; ``more`` as for ``auth/token/create``."""
        asked = {"policies": [self.policy(*paths)], "ttl": f"{ttl}s", "no_parent": True, **more}
        made = self.admin.write_data("auth/token/create", data=asked)
        return str(made["auth"]["client_token"])

    def approle(self, *paths: Paths, ttl: int = 3600, **more: Any) -> AppRole:
        """Create a role at ``approle/``; ``more`` as Vault's ``token_max_ttl`` and ``secret_id_num_uses``."""
        role = self._role("approle", f"role/job-{self._name}-{len(self._policies)}", paths, ttl, more)
        role_id = self.admin.read(f"{role}/role-id")["data"]["role_id"]
        secret_id = self.admin.write_data(f"{role}/secret-id")["data"]["secret_id"]
        return AppRole(role.rpartition("/")[2], role_id, secret_id)

    def unwrapped(self, token: str) -> Mapping[str, Any]:
        """Return the data of a wrapped answer."""
        return dict(self.admin.sys.unwrap(token)["data"])

    def userpass(self, *paths: Paths, ttl: int = 3600, **more: Any) -> UserPass:
        """Create a user at ``userpass/``."""
        password = secrets.token_urlsafe(12)
        user = f"users/user-{self._name}-{len(self._policies)}"
        made = self._role("userpass", user, paths, ttl, {"password": password, **more})
        return UserPass(made.rpartition("/")[2], password)

    def jwt(self, *paths: Paths, ttl: int = 3600, **more: Any) -> JwtRole:
        """Create a login method of type ``jwt`` that trusts a new key, with a role."""
        signer = Signer()
        config = {"jwt_validation_pubkeys": [signer.public_key]}
        role = {"role_type": "jwt", "user_claim": "sub", "bound_audiences": [AUDIENCE], **more}
        return JwtRole(*self._own_role("jwt", config, paths, ttl, role), signer)

    def kubernetes(self, *paths: Paths, ttl: int = 3600, **more: Any) -> JwtRole:
        """Create a login method of type ``kubernetes``, with a role for a service account."""
        account = ServiceAccount("job")
        self._servers.append(WebServer(TokenReview(account), tls=self._certificate.server_context()))
        config = {
            "kubernetes_host": self._servers[-1].address,
            "kubernetes_ca_cert": self._certificate.certificate.read_text(),
            "disable_local_ca_jwt": True,
        }
        role = {
            "bound_service_account_names": [account.name],
            "bound_service_account_namespaces": [NAMESPACE],
            **more,
        }
        return JwtRole(*self._own_role("kubernetes", config, paths, ttl, role), Signer(), account.claims())

    def requests(self) -> tuple[SeenRequest, ...]:
        """Return the requests to ``address`` since the last reset."""
        return self._front.requests()

    def arrived(self) -> int:
        """Return how many requests have come to ``address`` since the last reset, those that hang among them."""
        return self._front.arrived()

    def reset(self) -> None:
        """Forget the requests, the delay and the faults."""
        self._front.reset()

    def delay(self, milliseconds: float) -> None:
        """Answer each request that much later."""
        self._front.delay(milliseconds)

    def fail(
        self, times: int, what: int | str, *, body: str = "", headers: Mapping[str, str] | None = None, path: str = ""
    ) -> None:
        """Fail the next requests below ``path``: a status, ``hang``, ``reset``, ``cut`` or ``redirect``."""
        self._front.fail(times, what, body=body, headers=headers, path=path)

    def advance(self, seconds: float) -> None:
        """Let ``seconds`` pass."""
        if self._stand_in is not None:
            self._stand_in.clock.advance(seconds)
        elif seconds > LONGEST_WAIT:
            pytest.skip(f"a real Vault would take {seconds} s")
        else:
            time.sleep(seconds)

    @contextlib.contextmanager
    def sealed(self) -> Iterator[None]:
        """Seal the server for the time of the block."""
        if self._stand_in is None and self._at.unseal_key is None:
            pytest.skip("this Vault is not ours to seal")
        self._seal(sealed=True)
        try:
            yield
        finally:
            self._seal(sealed=False)

    def live_tokens(self) -> frozenset[str]:
        """Return the accessors of the live tokens with this test's policies."""
        accessors = self.admin.list("auth/token/accessors")["data"]["keys"]
        return frozenset(accessor for accessor in accessors if self._is_ours(accessor))

    def live_leases(self) -> frozenset[str]:
        """Return the ids of the live leases of ``database``."""
        prefix = f"{self.database}/creds/app/"
        listed = self.admin.list(f"sys/leases/lookup/{prefix}")
        return frozenset(prefix + name for name in listed["data"]["keys"]) if listed else frozenset()

    def close(self) -> None:
        """End every connection, and take away what the test made."""
        self._front.close()
        for server in self._servers:
            server.close()
        if self._stand_in is None:
            self._revoke_tokens()
        self._undo.close()
        if "admin" in vars(self):
            self.admin.adapter.close()

    @cached_property
    def _certificate(self) -> Certificate:
        return self_signed(self._folder)

    def _session(self) -> requests.Session | None:
        if self._stand_in is not None:
            return direct_session(self._stand_in)
        return None if _is_elsewhere() else near_session()

    def _mounted(self, name: str, **asked: Any) -> str:
        mount = f"{name}-{self._name}"
        self.admin.write_data(f"sys/mounts/{mount}", data=asked)
        self._undo.callback(self.admin.delete, f"sys/mounts/{mount}")
        return mount

    def _wait_for(self, mount: str) -> None:
        """Wait until a KV engine has seen that it has nothing to upgrade: until then Vault may answer 400."""
        import hvac

        until = time.monotonic() + LONGEST
        while True:
            try:
                self.admin.read(f"{mount}/config")
            except hvac.exceptions.InvalidRequest:
                if time.monotonic() > until:
                    raise
                time.sleep(0.01)
            else:
                return

    def _role(self, kind: str, path: str, paths: tuple[Paths, ...], ttl: int, more: Any) -> str:
        self._enabled(kind)
        role = f"auth/{kind}/{path}"
        asked = {"token_policies": self.policy(*paths), "token_ttl": f"{ttl}s", **more}
        self.admin.write_data(role, data=asked)
        self._undo.callback(self.admin.delete, role)
        return role

    def _own_role(
        self, kind: str, config: Mapping[str, Any], paths: tuple[Paths, ...], ttl: int, more: Any
    ) -> tuple[str, str]:
        mount = f"{kind}-{self._name}-{len(self._policies)}"
        self.admin.write_data(f"sys/auth/{mount}", data={"type": kind})
        self._undo.callback(self.admin.delete, f"sys/auth/{mount}")
        self.admin.write_data(f"auth/{mount}/config", data=dict(config))
        asked = {"token_policies": self.policy(*paths), "token_ttl": f"{ttl}s", **more}
        self.admin.write_data(f"auth/{mount}/role/job", data=asked)
        return mount, "job"

    def _enabled(self, kind: str) -> None:
        if f"{kind}/" not in self.admin.read("sys/auth")["data"]:
            self.admin.write_data(f"sys/auth/{kind}", data={"type": kind})

    def _is_ours(self, accessor: str) -> bool:
        import hvac

        try:
            found = self.admin.write_data("auth/token/lookup-accessor", data={"accessor": accessor})
        except (hvac.exceptions.Forbidden, hvac.exceptions.InvalidPath, hvac.exceptions.InvalidRequest):
            return False  # it ended meanwhile
        return not set(self._policies).isdisjoint(found["data"]["policies"])

    def _revoke_tokens(self) -> None:
        if self._policies:
            for accessor in self.live_tokens():
                self.admin.write_data("auth/token/revoke-accessor", data={"accessor": accessor})
        for name in self._policies:
            self.admin.delete(f"sys/policies/acl/{name}")

    def _seal(self, *, sealed: bool) -> None:
        if self._stand_in is not None:
            self._stand_in.seal(sealed=sealed)
        elif sealed:
            self.admin.sys.seal()
        else:
            self.admin.sys.submit_unseal_key(self._at.unseal_key)
            if "kv2" in vars(self):
                self._wait_for(self.kv2)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that needs a real Vault if there is none. Doing this here makes one line of all in the report."""
    if item.get_closest_marker("vault") is not None and not _is_at_hand():
        pytest.skip(HOW_TO_GET_IT)


@pytest.fixture(scope="session")
def real_vault() -> Iterator[VaultAddress]:
    """The real Vault of this run; it is at hand for tests with the mark ``vault``."""
    if _is_elsewhere():
        yield VaultAddress(os.environ["VAULT_ADDR"], os.environ["VAULT_TOKEN"])
    else:
        with VaultProcess(built_binary()) as process:
            yield process.at


@pytest.fixture(params=VAULTS)
def vault(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[VaultServer]:
    """A Vault for this test."""
    with _served(request, tmp_path) as server:
        yield server


@pytest.fixture(scope="module", params=VAULTS)
def shared_vault(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[VaultServer]:
    """A Vault for the tests of a file, which look at one thing that takes long."""
    with _served(request, tmp_path_factory.mktemp("vault")) as server:
        yield server


@contextlib.contextmanager
def _served(request: pytest.FixtureRequest, folder: Path) -> Iterator[VaultServer]:
    pytest.importorskip("hvac")
    with contextlib.ExitStack() as stack:
        if request.param == "real":
            at: VaultAddress = request.getfixturevalue("real_vault")
            upstream = Upstream(at.address, tls=_tls(at.address))
            stack.callback(upstream.close)
            application: Application = upstream
        else:
            at = VaultAddress("http://stand-in", f"root-{secrets.token_hex(8)}")
            application = VaultStandIn(at.root_token)
        server = VaultServer(request.param, application, at, folder)
        stack.callback(server.close)
        yield server


def _is_elsewhere() -> bool:
    return bool(os.environ.get("VAULT_ADDR") and os.environ.get("VAULT_TOKEN"))


def _is_at_hand() -> bool:
    wanted = os.environ.get("VAULT_TEST_SERVER", "")
    return wanted != "off" and (_is_elsewhere() or wanted == "build")


def _tls(address: str) -> ssl.SSLContext | None:
    if not address.startswith("https:"):
        return None
    trust = _trust()
    context = ssl.create_default_context(cafile=trust if isinstance(trust, str) else None)
    if not trust:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def _trust() -> bool | str:
    if os.environ.get("VAULT_SKIP_VERIFY", "").lower() in {"1", "true"}:
        return False
    return os.environ.get("VAULT_CACERT") or True
