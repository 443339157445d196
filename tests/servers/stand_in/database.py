"""A dynamic engine: each read makes a user, who ends with the lease."""

from __future__ import annotations

import secrets

from tests.servers.stand_in.answers import (
    NOTHING,
    Answer,
    Json,
    Refusal,
    duration,
    identifier,
    missing,
    unsupported,
    unsupported_path,
)
from tests.servers.stand_in.call import Call
from tests.servers.stand_in.tokens import DEFAULT_TTL, Tokens


class Database:
    """The database engine, with users who are nowhere else."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._documents: dict[str, Json] = {}

    def answer(self, call: Call) -> Answer:
        """Return credentials, or store the engine's configuration."""
        kind, _, name = call.path.partition("/")
        if kind not in {"config", "creds", "roles"} or not name:
            raise unsupported_path()
        if kind == "creds" and call.method != "GET":
            raise unsupported()
        if kind == "creds":
            return self._credentials(name, call)
        return self._configuration(call)

    def _credentials(self, name: str, call: Call) -> Answer:
        role = self._documents.get(f"roles/{name}")
        if role is None:
            raise Refusal(400, f"unknown role: {name}")
        assert call.token is not None
        ttl, max_ttl = role["default_ttl"] or DEFAULT_TTL, role["max_ttl"] or DEFAULT_TTL
        lease = self._tokens.lease(call.token, f"{call.mount}{call.path}", ttl=ttl, max_ttl=max_ttl)
        user = f"v-{call.token.display_name}-{name}-{secrets.token_hex(8)}"
        data = {"username": user, "password": identifier(20)}
        return Answer(data, lease_id=lease.id, lease_duration=lease.ttl, renewable=True, warnings=_ignored(call))

    def _configuration(self, call: Call) -> Answer:
        if call.method == "POST":
            self._documents[call.path] = _role(call.body) if call.path.startswith("roles/") else _config(call.body)
        elif call.method == "DELETE":
            self._documents.pop(call.path, None)
        elif call.method != "GET":
            raise unsupported()
        elif call.path not in self._documents:
            raise missing()
        else:
            return Answer(dict(self._documents[call.path]))
        return NOTHING


def _role(asked: Json) -> Json:
    statements = ("creation_statements", "renew_statements", "revocation_statements", "rollback_statements")
    return {
        "credential_type": "password",
        "db_name": asked.get("db_name", ""),
        "default_ttl": duration(asked.get("default_ttl")),
        "max_ttl": duration(asked.get("max_ttl")),
        **{name: _list(asked.get(name)) for name in statements},
    }


def _config(asked: Json) -> Json:
    return {
        "allowed_roles": _list(asked.get("allowed_roles")),
        "connection_details": {},
        "password_policy": "",
        "plugin_name": asked.get("plugin_name", ""),
        "plugin_version": "",
        "root_credentials_rotate_statements": [],
    }


def _list(given: str | list[str] | None) -> list[str]:
    return [given] if isinstance(given, str) else list(given or [])


def _ignored(call: Call) -> list[str]:
    names = " ".join(sorted(call.query))
    return [f"Endpoint ignored these unrecognized parameters: [{names}]"] if names else []
