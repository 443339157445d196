"""The paths below ``auth/token/``."""

from __future__ import annotations

from tests.servers.stand_in.answers import NOTHING, Answer, Refusal, duration, unsupported, unsupported_path
from tests.servers.stand_in.call import Call
from tests.servers.stand_in.policies import Policies
from tests.servers.stand_in.tokens import DEFAULT_TTL, Token, Tokens, TokenSpec

UNKNOWN = {
    "lookup": Refusal(403, "bad token"),
    "renew": Refusal(400, "token not found"),
    "lookup-accessor": Refusal(400, "1 error occurred:\n\t* invalid accessor\n\n"),
}
OF_THE_CALLER = {"lookup-self", "renew-self", "revoke-self"}
PATHS = {*UNKNOWN, *OF_THE_CALLER, "create", "create-orphan", "revoke", "revoke-accessor"}


class TokenPaths:
    """Making, looking up, renewing and revoking tokens."""

    def __init__(self, tokens: Tokens, policies: Policies) -> None:
        self._tokens = tokens
        self._policies = policies

    def answer(self, call: Call) -> Answer:
        """Answer ``call``, whose path is below ``auth/token/``."""
        assert call.token is not None
        path = call.path.rstrip("/")
        if (path, call.method) == ("lookup-self", "GET"):
            return Answer(self._tokens.description(call.token))
        if (path, call.method) == ("accessors", "LIST"):
            return Answer({"keys": self._tokens.accessors()})
        if path not in PATHS:
            raise unsupported_path()
        if call.method != "POST":
            raise unsupported()
        if path.startswith("create"):
            self._may_create(call, path)
            return self._create(call, path)
        token = call.token if path in OF_THE_CALLER else self._other(call)
        if token is None:
            return self._unknown(path)
        return self._done(path, token, call)

    def _done(self, path: str, token: Token, call: Call) -> Answer:
        if path.startswith("lookup"):
            return Answer(self._tokens.description(token))
        if token.spec.is_batch:
            raise Refusal(400, f"batch tokens cannot be {path.partition('-')[0].removesuffix('e')}ed")
        if path.startswith("renew"):
            return self._tokens.renew(token, duration(call.body.get("increment"), name="increment"))
        self._tokens.revoke(token)
        return NOTHING

    def _unknown(self, path: str) -> Answer:
        if path in UNKNOWN:
            raise UNKNOWN[path]
        warned = path == "revoke-accessor"
        return Answer(warnings=["No token found with this accessor"]) if warned else NOTHING

    def _other(self, call: Call) -> Token | None:
        return self._tokens.find(id=call.body.get("token", ""), accessor=call.body.get("accessor", ""))

    def _may_create(self, call: Call, path: str) -> None:
        assert call.token is not None
        mine = call.token.policies
        if self._policies.is_sudo(mine, f"auth/token/{path}"):
            return
        if call.body.get("no_parent") and path == "create":
            raise Refusal(400, "root or sudo privileges required to create orphan token")
        if not set(mine).issuperset(call.body.get("policies") or ()):
            raise Refusal(400, "child policies must be subset of parent")

    def _create(self, call: Call, path: str) -> Answer:
        assert call.token is not None
        body = call.body
        if body.get("type", "service") not in {"service", "batch"}:
            raise Refusal(400, "invalid 'token_type' value")
        orphan = path == "create-orphan" or bool(body.get("no_parent"))
        spec = TokenSpec(
            policies=body.get("policies") or call.token.policies,
            ttl=duration(body.get("ttl"), DEFAULT_TTL),
            max_ttl=duration(body.get("explicit_max_ttl")),
            explicit_max_ttl=duration(body.get("explicit_max_ttl")),
            display_name=f"token-{body['display_name']}" if body.get("display_name") else "token",
            meta=body.get("meta"),
            parent=None if orphan else call.token.id,
            renewable=body.get("renewable", True),
            period=duration(body.get("period")),
            uses=int(body.get("num_uses") or 0),
            path=f"auth/token/{path}",
            is_batch=body.get("type") == "batch",
            with_default=not body.get("no_default_policy", False),
        )
        return self._tokens.auth(self._tokens.create(spec))
