"""The ways to log in. Only what a test can set up is checked; clouds and directories believe everybody."""

from __future__ import annotations

import base64
import binascii
import json
import time
import uuid
from collections.abc import Callable, Collection

from tests.servers.stand_in.answers import (
    NOTHING,
    Answer,
    Json,
    Refusal,
    denied,
    duration,
    missing,
    unsupported,
    unsupported_in_public,
)
from tests.servers.stand_in.call import Call
from tests.servers.stand_in.tokens import TokenSpec, new_entity


class Login:
    """
    An auth method at its mount.

    :param kind: ``approle``, ``userpass``, ``ldap``, ``radius``, ``kubernetes``, ``jwt``, ``github``, ``aws``, ``gcp``
        or ``azure``
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._documents: dict[str, Json] = {}
        self._secret_ids: dict[str, str] = {}
        self._uses_left: dict[str, int] = {}

    def is_login(self, path: str) -> bool:
        """Whether ``path``, below the mount, is open to who has no token."""
        return path.startswith("login/") if self.kind in WITH_NAME else path == "login"

    def login(self, call: Call) -> TokenSpec:
        """Return the token that the caller gets."""
        if call.method != "POST" and self.kind != "approle":
            raise unsupported_in_public()
        return LOGINS[self.kind](self, call)

    def answer(self, call: Call) -> Answer:
        """Keep the method's configuration: roles, users, and what else a test writes."""
        if self.kind == "approle" and call.path.endswith(("/role-id", "/secret-id")):
            return self._approle(call)
        if call.method == "POST":
            self._documents[call.path] = self._documents.get(call.path, {}) | call.body
            if self.kind == "approle":
                self._documents[call.path].setdefault("role_id", str(uuid.uuid4()))
            return NOTHING
        if call.method == "DELETE":
            self._documents.pop(call.path, None)
            return NOTHING
        if call.method != "GET":
            raise unsupported()
        if call.path not in self._documents:
            raise missing()
        return Answer({key: value for key, value in self._documents[call.path].items() if key != "password"})

    def document(self, path: str) -> Json | None:
        """Return what was written at ``path``."""
        return self._documents.get(path)

    def approle_of(self, role_id: str) -> str | None:
        """Return the name of the role with this id."""
        found = (path for path, role in self._documents.items() if role.get("role_id") == role_id)
        return next((path.removeprefix("role/") for path in found), None)

    def takes(self, role: str, secret_id: str) -> bool:
        """Use ``secret_id``, and say whether it was given out for ``role`` and is not used up."""
        if self._secret_ids.get(secret_id) != role:
            return False
        left = self._uses_left.get(secret_id, 0)
        if left == 1:
            del self._secret_ids[secret_id]
        self._uses_left[secret_id] = max(left - 1, 0)
        return True

    def _approle(self, call: Call) -> Answer:
        _, name, what = call.segments
        role = self._documents.get(f"role/{name}")
        if role is None:
            raise missing()
        if what == "role-id" and call.method == "GET":
            return Answer({"role_id": role["role_id"]})
        if what == "role-id":
            role["role_id"] = call.body["role_id"]
            return NOTHING
        most = duration(role.get("secret_id_ttl"), name="secret_id_ttl")
        ttl = duration(call.body.get("ttl"), most)
        if most and ttl > most:
            raise Refusal(400, "ttl cannot be longer than the role's secret_id_ttl")
        secret_id = str(uuid.uuid4())
        self._secret_ids[secret_id] = name
        uses = self._uses_left[secret_id] = int(role.get("secret_id_num_uses") or 0)
        data = {"secret_id": secret_id, "secret_id_accessor": str(uuid.uuid4()), "secret_id_num_uses": uses}
        return Answer(data | {"secret_id_ttl": ttl})


def _approle(method: Login, call: Call) -> TokenSpec:
    if not call.body.get("role_id"):
        raise Refusal(500, "failed to determine alias name from login request")
    name = method.approle_of(call.body["role_id"])
    if name is None:
        raise Refusal(400, "invalid role ID")
    role = method.document(f"role/{name}") or {}
    if role.get("bind_secret_id", True):
        if not call.body.get("secret_id"):
            raise Refusal(400, "missing secret_id")
        if not method.takes(name, call.body["secret_id"]):
            raise Refusal(400, "invalid secret id")
    return _spec(call, role, "approle", {"role_name": name})


def _named_user(method: Login, call: Call) -> TokenSpec:
    name = call.path.partition("/")[2].lower()
    if not call.body.get("password"):
        raise Refusal(500, "missing password")
    user = method.document(f"users/{name}")
    if user is None or user.get("password", call.body["password"]) != call.body["password"]:
        raise Refusal(400, "invalid username or password")
    return _spec(call, user, f"{call.mount.split('/')[-2]}-{name}", {"username": name})


def _kubernetes(method: Login, call: Call) -> TokenSpec:
    name, token = _words_of(call, role="role", jwt="jwt")
    role = method.document(f"role/{name}")
    if role is None:
        raise Refusal(400, f'invalid role name "{name}"')
    claims = _claims(token)
    if claims is None:
        raise denied()
    if _is_over(claims):
        raise Refusal(403, EXPIRED)
    meta = {"role": name, **_service_account(claims)}
    account, namespace = meta["service_account_name"], meta["service_account_namespace"]
    if {account, "*"}.isdisjoint(_words(role.get("bound_service_account_names"))):
        raise Refusal(403, "service account name not authorized")
    return _spec(call, role, f"{call.mount.split('/')[-2]}-{namespace}-{account}", meta)


def _service_account(claims: Json) -> dict[str, str]:
    account = claims.get("kubernetes.io", {})
    named = account.get("serviceaccount", {})
    return {
        "service_account_name": named.get("name", ""),
        "service_account_namespace": account.get("namespace", ""),
        "service_account_secret_name": "",
        "service_account_uid": named.get("uid", ""),
    }


def _jwt(method: Login, call: Call) -> TokenSpec:
    config = method.document("config")
    if config is None:
        raise Refusal(400, "could not load configuration")
    name, token = _words_of(call, role="role", jwt="token")
    role = method.document(f"role/{name}")
    if role is None:
        raise Refusal(400, f'role "{name}" could not be found')
    claims = _signed_claims(token, _words(config.get("jwt_validation_pubkeys")))
    if _is_over(claims):
        raise Refusal(400, f"error validating token: {EXPIRED}")
    audiences = set(_words(claims.get("aud")))
    if role.get("bound_audiences") and audiences.isdisjoint(_words(role["bound_audiences"])):
        raise Refusal(400, f"error validating token: {NOT_FOR_US}")
    user = claims.get(role.get("user_claim", "sub"), "")
    return _spec(call, role, f"{call.mount.split('/')[-2]}-{user}", {"role": name})


def _github(method: Login, call: Call) -> TokenSpec:
    if not call.body.get("token"):
        raise Refusal(400, "missing token")
    return _spec(call, method.document("config") or {}, "github", {"username": "octocat", "org": "example"})


def _cloud(method: Login, call: Call) -> TokenSpec:
    needed = {"aws": ["iam_request_url", "iam_request_body", "iam_request_headers"], "gcp": ["role", "jwt"]}
    lacking = [name for name in needed.get(method.kind, ["role", "jwt"]) if not call.body.get(name)]
    if lacking:
        raise Refusal(400, f"missing {lacking[0]}")
    name = call.body.get("role", "")
    return _spec(call, method.document(f"role/{name}") or {}, f"{method.kind}-{name}", {"role": name})


NOT_VERIFIED = "error validating token: error verifying token signature"
NOT_FOR_US = "invalid audience (aud) claim: audience claim does not match any expected audience"
EXPIRED = "invalid expiration time (exp) claim: token is expired"
SECONDS_OF_GRACE = 150
WITH_NAME = {"userpass", "ldap", "radius"}
LOGINS: dict[str, Callable[[Login, Call], TokenSpec]] = {
    "approle": _approle,
    "userpass": _named_user,
    "ldap": _named_user,
    "radius": _named_user,
    "kubernetes": _kubernetes,
    "jwt": _jwt,
    "github": _github,
    "aws": _cloud,
    "gcp": _cloud,
    "azure": _cloud,
}


def _spec(call: Call, role: Json, display_name: str, meta: dict[str, str]) -> TokenSpec:
    return TokenSpec(
        policies=_words(role.get("token_policies") or role.get("policies")),
        ttl=duration(role.get("token_ttl")),
        max_ttl=duration(role.get("token_max_ttl")),
        period=duration(role.get("token_period")),
        uses=int(role.get("token_num_uses") or 0),
        path=f"auth/{call.mount.removeprefix('auth/')}{call.path}",
        display_name=display_name,
        is_batch=role.get("token_type") == "batch",
        meta=meta,
        entity=new_entity(),
    )


def _words(given: object) -> list[str]:
    if isinstance(given, str):
        return [word.strip() for word in given.split(",") if word.strip()]
    return [str(word) for word in given] if isinstance(given, Collection) else []


def _words_of(call: Call, **names: str) -> list[str]:
    for name, called in names.items():
        if not call.body.get(name):
            raise Refusal(400, f"missing {called}")
    return [call.body[name] for name in names]


def _claims(token: str) -> Json | None:
    try:
        _, claims, _ = token.split(".")
        read: Json = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
    except (ValueError, binascii.Error):
        return None
    return read


def _signed_claims(token: str, keys: Collection[str]) -> Json:
    if token.count(".") != 2:
        raise Refusal(400, f"{NOT_VERIFIED}: go-jose/go-jose: compact JWS format must have three parts")
    claims = _claims(token)
    if claims is None:
        raise Refusal(400, f"{NOT_VERIFIED}: illegal base64 data at input byte 0")
    if keys and not any(_is_signed(token, key) for key in keys):
        raise Refusal(400, f"{NOT_VERIFIED}: no known key successfully validated the token signature")
    return claims


def _is_signed(token: str, key: str) -> bool:
    import jwt

    try:
        jwt.api_jws.PyJWS().decode(token, key, algorithms=["ES256", "RS256"])
    except jwt.InvalidTokenError:
        return False
    return True


def _is_over(claims: Json) -> bool:
    return float(claims.get("exp", "inf")) + SECONDS_OF_GRACE < time.time()
