"""Everything that a stand-in remembers."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.servers.stand_in.answers import Answer, Json, Refusal, unsupported_path
from tests.servers.stand_in.call import Call, Engine
from tests.servers.stand_in.database import Database
from tests.servers.stand_in.kv import KvV1, KvV2
from tests.servers.stand_in.logins import LOGINS, Login
from tests.servers.stand_in.mounts import Mount, MountTable
from tests.servers.stand_in.policies import Policies
from tests.servers.stand_in.token_paths import TokenPaths
from tests.servers.stand_in.tokens import Tokens


class MovableClock:
    """The time, in seconds since 1970, that a test can move forward."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self._ahead

    def advance(self, seconds: float) -> None:
        """Let ``seconds`` pass at once."""
        self._ahead += seconds


class NoPaths:
    """An engine that only is there."""

    def answer(self, call: Call) -> Answer:
        """Refuse ``call``."""
        raise unsupported_path()


@dataclass(slots=True)
class State:
    """A server's memory, as a new server in development mode has it."""

    clock: MovableClock = field(default_factory=MovableClock)
    is_sealed: bool = False
    policies: Policies = field(default_factory=Policies)
    mounts: MountTable = field(default_factory=MountTable)
    auth: MountTable = field(default_factory=lambda: MountTable("auth/"))
    cluster_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    tokens: Tokens = field(init=False)

    def __post_init__(self) -> None:
        self.tokens = Tokens(self.clock)
        self.mount("secret/", "kv", {"version": "2"})
        self.mount("kv1/", "kv", {"version": "1"})
        self.mount("database/", "database", {})
        for path, mount in _of_every_vault():
            self.mounts.add(path, mount)
        for kind in LOGINS:
            self.enable(f"{kind}/", kind)
        about = {"description": "token based credentials"}
        token = Mount("token", TokenPaths(self.tokens, self.policies), None, prefix="auth_", about=about)
        self.auth.add("token/", token)

    def mount(self, path: str, kind: str, options: Json | None) -> None:
        """Hang a new engine at ``path``."""
        if kind == "kv-v2":
            kind, options = "kv", {"version": "2"}
        engine = self._engine(kind, str((options or {}).get("version", "1")))
        self.mounts.add(path, Mount(kind, engine, options))

    def enable(self, path: str, kind: str) -> None:
        """Hang a new auth method at ``path``."""
        if kind not in LOGINS:
            raise Refusal(400, f"plugin not found in the catalog: {kind}")
        self.auth.add(path, Mount(kind, Login(kind), prefix="auth_"))

    def _engine(self, kind: str, version: str) -> Engine:
        if kind == "database":
            return Database(self.tokens)
        if kind == "kv" and version == "2":
            return KvV2(self.clock)
        if kind == "kv":
            return KvV1()
        raise Refusal(400, f"plugin not found in the catalog: {kind}")


def _of_every_vault() -> Iterator[tuple[str, Mount]]:
    system = {"description": "system endpoints used for control, policy and debugging", "seal_wrap": True}
    own = {"description": "per-token private secret storage", "local": True}
    yield "sys/", Mount("system", NoPaths(), None, passed=["Accept"], about=system)
    yield (
        "identity/",
        Mount("identity", NoPaths(), None, passed=["Authorization"], about={"description": "identity store"}),
    )
    yield "cubbyhole/", Mount("cubbyhole", KvV1(), None, about=own)
