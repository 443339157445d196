"""The paths below ``sys/`` that need a token."""

from __future__ import annotations

import json
from collections.abc import Callable

from tests.servers.stand_in.answers import (
    NOTHING,
    Answer,
    Refusal,
    duration,
    listed,
    missing,
    unsupported,
    unsupported_path,
)
from tests.servers.stand_in.call import Call
from tests.servers.stand_in.mounts import MountTable
from tests.servers.stand_in.state import State
from tests.servers.stand_in.tokens import Token

AT_THE_TOP = ("mounts", "auth", "capabilities-self", "policy")


class System:
    """Mounts, policies and leases."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._handlers: dict[str, Callable[[str, Call], Answer]] = {
            "mounts": lambda name, call: self._table(state.mounts, name, call),
            "auth": lambda name, call: self._table(state.auth, name, call),
            "policies": lambda name, call: self._policy(name.removeprefix("acl/"), call),
            "policy": self._policy,
            "leases": self._leases,
            "renew": lambda name, call: self._leases(f"renew/{name}", call),
            "revoke": lambda name, call: self._leases(f"revoke/{name}", call),
            "capabilities-self": self._capabilities,
            "namespaces": _namespaces,
        }

    def answer(self, call: Call) -> Answer:
        """Answer ``call``, whose path is below ``sys/``."""
        kind, _, name = call.path.partition("/")
        if kind not in self._handlers:
            raise unsupported_path()
        return self._handlers[kind](name, call)

    @staticmethod
    def is_repeated(path: str) -> bool:
        """Return whether the data of an answer is also repeated outside its envelope."""
        return path.partition("/")[0] in AT_THE_TOP

    def _table(self, table: MountTable, name: str, call: Call) -> Answer:
        path = name.strip("/") + "/"
        if call.method == "GET":
            return self._shown(table, path)
        if call.method == "DELETE":
            table.remove(path)
            self._state.tokens.forget_leases(table.prefix + path)
        elif table is self._state.auth:
            self._state.enable(path, call.body["type"])
        else:
            self._state.mount(path, call.body["type"], call.body.get("options") or {})
        return NOTHING

    def _shown(self, table: MountTable, path: str) -> Answer:
        if path == "/":
            return Answer({path: mount.state() for path, mount in table})
        mount = table.get(path)
        if mount is None:
            raise Refusal(400, f"No {'auth engine' if table.prefix else 'secret engine mount'} at {path}")
        return Answer(mount.state())

    def _policy(self, name: str, call: Call) -> Answer:
        policies = self._state.policies
        if call.method == "POST":
            policies.write(name, call.body.get("policy", ""))
        elif call.method == "DELETE":
            policies.rules.pop(name, None)
        elif name not in policies.rules:
            raise missing()
        else:
            rules = {path: {"capabilities": words} for path, words in policies.rules[name].items()}
            return Answer({"name": name, "policy": json.dumps({"path": rules})})
        return NOTHING

    def _leases(self, name: str, call: Call) -> Answer:
        what, _, rest = name.partition("/")
        if not what:
            raise unsupported_path()
        if (what, call.method) == ("lookup", "LIST"):
            return self._listed(rest)
        if what not in {"renew", "revoke", "lookup", "revoke-prefix"} or call.method != "POST":
            raise unsupported()
        if what == "revoke-prefix":
            self._state.tokens.forget_leases(rest)
            return NOTHING
        lease = call.body.get("lease_id") or rest
        if not lease:
            raise Refusal(400, "lease_id must be specified")
        return {"renew": self._renew, "revoke": self._revoke, "lookup": self._look_up}[what](lease, call)

    def _renew(self, name: str, call: Call) -> Answer:
        return self._state.tokens.renew_lease(name, duration(call.body.get("increment"), name="increment"))

    def _revoke(self, name: str, _: Call) -> Answer:
        self._state.tokens.leases.pop(name, None)
        return NOTHING

    def _look_up(self, name: str, _: Call) -> Answer:
        return Answer(self._state.tokens.described_lease(name))

    def _listed(self, path: str) -> Answer:
        self._state.tokens.expire()
        return listed(self._state.tokens.leases, path)

    def _capabilities(self, _: str, call: Call) -> Answer:
        assert call.token is not None
        paths = call.body.get("paths") or [call.body["path"]]
        found = {path: self._granted(call.token, path) for path in paths}
        return Answer(found | ({"capabilities": found[paths[0]]} if len(paths) == 1 else {}))

    def _granted(self, token: Token, path: str) -> list[str]:
        if "root" in token.policies:
            return ["root"]
        return sorted(self._state.policies.capabilities(token.policies, path)) or ["deny"]


def _namespaces(name: str, call: Call) -> Answer:
    if not name and call.method == "GET":
        raise unsupported()
    raise Refusal(404, "enterprise-only feature")
