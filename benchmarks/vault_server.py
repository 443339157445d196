"""The Vaults of the benchmark: the tests' stand-in in its own process, and a real one if it was built."""

from __future__ import annotations

import json
import multiprocessing
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from tests.servers.build import cached_binary
from tests.servers.front import Front
from tests.servers.vault_process import VaultProcess
from tests.servers.vault_stand_in import VaultStandIn
from tests.servers.web import WebServer

if TYPE_CHECKING:
    import hvac

POLICY = {"path": {"secret/data/*": {"capabilities": ["read"]}}}
ROLE = "auth/approle/role/benchmark"


@dataclass(frozen=True)
class Vault:
    """
    A Vault with an AppRole that may read everything below ``secret/``.

    :param control: controls the stand-in, which can delay answers and count; None for a real server
    """

    address: str
    role_id: str
    secret_id: str = field(repr=False)
    control: Connection | None = None

    def delay(self, milliseconds: float) -> None:
        """Delay the answer to each request by that time."""
        self._order("delay", milliseconds)

    def counted(self) -> Counter[str]:
        """Return the number of requests of each kind since the last call."""
        return Counter(self._order("count"))

    def _order(self, *order: object) -> list[str]:
        assert self.control is not None
        self.control.send(order)
        kinds: list[str] = self.control.recv()
        return kinds


@contextmanager
def stand_in(documents: Mapping[str, Mapping[str, str]]) -> Iterator[Vault]:
    """Start the stand-in with ``documents``, path below ``secret/`` -> keys and values."""
    ours, its = multiprocessing.Pipe()
    root = secrets.token_hex(16)
    # A new interpreter, so that modules that this one has loaded do not affect the server's time.
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(its, root), daemon=True)
    process.start()
    try:
        yield _filled(ours.recv(), root, documents, ours)
    finally:
        ours.send(None)
        process.join()


@contextmanager
def real(documents: Mapping[str, Mapping[str, str]]) -> Iterator[Vault | None]:
    """Start the real server with ``documents``; yield None if none was built."""
    binary = cached_binary()
    if binary is None:
        yield None
        return
    with VaultProcess(binary) as process:
        yield _filled(process.at.address, process.at.root_token, documents)


def _filled(
    address: str, root: str, documents: Mapping[str, Mapping[str, str]], control: Connection | None = None
) -> Vault:
    import hvac

    admin = hvac.Client(address, token=root)
    if "approle/" not in admin.read("sys/auth")["data"]:
        admin.sys.enable_auth_method("approle")
    admin.sys.create_or_update_acl_policy("benchmark", json.dumps(POLICY))
    admin.write_data(ROLE, data={"token_policies": "benchmark"})
    for path, document in documents.items():
        admin.secrets.kv.v2.create_or_update_secret(path, dict(document))
    role_id = admin.read(f"{ROLE}/role-id")["data"]["role_id"]
    return Vault(address, role_id, _secret_id(admin), control)


def _secret_id(admin: hvac.Client) -> str:
    return str(admin.write_data(f"{ROLE}/secret-id")["data"]["secret_id"])


def _serve(pipe: Connection, root: str) -> None:
    """Serve until the pipe says None; ``delay`` sets the delay, ``count`` returns and resets the kinds of requests."""
    front = Front(VaultStandIn(root))
    with WebServer(front) as server:
        pipe.send(server.address)
        while (order := pipe.recv()) is not None:
            if order[0] == "delay":
                front.delay(order[1])
                pipe.send([])
            else:
                pipe.send([_kind(request.path, is_login=request.is_login) for request in front.requests()])
                front.forget()


def _kind(path: str, *, is_login: bool) -> str:
    if is_login:
        return "login"
    return "read" if path.startswith("secret/data/") else "other"
