"""
What Vault answers to the requests that this project sends, and to those that it must not mistake for them.

The same tests run on the stand-in and on a real Vault: so the stand-in is proven, and not believed. All that stands
here as expected was answered by Vault 1.14.
"""

from __future__ import annotations

import re
import time

import pytest

from tests.limits import LONGEST, eventually
from tests.servers.vault_answers import (
    BATCH_TOKEN,
    DENIED,
    DENIED_BY_POLICY,
    MISSING,
    SEALED,
    TIME,
    UNSUPPORTED,
    UUID,
    about,
    ask,
    auth,
    envelope,
    errors,
    like,
    mount,
    token,
    version,
)

ROOT = "<the root token>"
NOT_VERSIONED = (
    "Invalid path for a versioned K/V secrets engine. See the API docs for the appropriate API endpoints to use. "
    "If using the Vault CLI, use 'vault kv {}' for this operation."
)
NOT_A_NUMBER = (
    'Field validation failed: error converting input x for field "version": '
    "cannot parse '' as int: strconv.ParseInt: parsing \"x\": invalid syntax"
)
BAD_INCREMENT = 'error converting input soon for field "increment": time: invalid duration "soon"'


def say(vault, method, path, *, token=ROOT, **more):
    """Send a request to a path of the API; it is the root's unless the token of another is given."""
    return ask(vault.address, method, f"/v1/{path}", token=vault.root_token if token == ROOT else token, **more)


def check(answered, status, expected):
    assert (answered.status, like(answered.body, expected)) == (status, expected)


def filled(vault, path):
    """Put the names of this test's mounts in ``path``; a mount that is not named is not made."""
    return re.sub(r"\{(\w+)\}", lambda found: getattr(vault, found[1]), path)


# --- Key-value, version 2


@pytest.fixture
def kv2(vault):
    """Secrets of every kind."""
    vault.put("apps/db", {"password": "old"})
    vault.put("apps/db", {"password": "x", "port": 5432, "tls": {"on": True, "ca": None}})
    for name in ("deleted", "destroyed"):
        vault.put(name, {"password": "x"})
    say(vault, "DELETE", f"{vault.kv2}/data/deleted")
    say(vault, "POST", f"{vault.kv2}/destroy/destroyed", body={"versions": [1]})
    say(vault, "POST", f"{vault.kv2}/metadata/bare", body={"custom_metadata": {"owner": "me"}})
    vault.put("a b&c", {"k": "quoted"})
    return vault


DATA = {"password": "x", "port": 5432, "tls": {"on": True, "ca": None}}
LATEST = envelope({"data": DATA, "metadata": version(2)})
KV2 = {
    "the latest version": ("GET", "data/apps/db", 200, LATEST),
    "version 0 is the latest": ("GET", "data/apps/db?version=0", 200, LATEST),
    "a negative version is the latest": ("GET", "data/apps/db?version=-1", 200, LATEST),
    "an older version": (
        "GET",
        "data/apps/db?version=1",
        200,
        envelope({"data": {"password": "old"}, "metadata": version(1)}),
    ),
    "no such version": ("GET", "data/apps/db?version=9", 404, MISSING),
    "a version that is no number": ("GET", "data/apps/db?version=x", 400, errors(NOT_A_NUMBER)),
    "missing": ("GET", "data/apps/none", 404, MISSING),
    "a folder": ("GET", "data/apps", 404, MISSING),
    "deleted has a body": (
        "GET",
        "data/deleted",
        404,
        envelope({"data": None, "metadata": version(1, deletion_time=TIME)}),
    ),
    "destroyed has a body": (
        "GET",
        "data/destroyed",
        404,
        envelope({"data": None, "metadata": version(1, destroyed=True)}),
    ),
    "metadata without a version": ("GET", "data/bare", 404, MISSING),
    "a quoted name": (
        "GET",
        "data/a%20b%26c",
        200,
        envelope({"data": {"k": "quoted"}, "metadata": version(1)}),
    ),
    "read as version 1": ("GET", "apps/db", 404, envelope(warnings=[NOT_VERSIONED.format("get")])),
    "listed as version 1": ("LIST", "apps", 404, envelope(warnings=[NOT_VERSIONED.format("list")])),
    "written as version 1": ("PUT", "apps/db", 404, envelope(warnings=[NOT_VERSIONED.format("put")])),
    "a slash at the end": ("GET", "data/apps/db/", 404, envelope(warnings=[NOT_VERSIONED.format("get")])),
    "its configuration": (
        "GET",
        "config",
        200,
        envelope({"cas_required": False, "delete_version_after": "0s", "max_versions": 0}),
    ),
    "listed": ("LIST", "metadata/", 200, envelope({"keys": ["a b&c", "apps/", "bare", "deleted", "destroyed"]})),
    "listed with GET": ("GET", "metadata/apps?list=true", 200, envelope({"keys": ["db"]})),
    "an empty folder is listed": ("LIST", "metadata/none", 404, MISSING),
    "metadata": (
        "GET",
        "metadata/deleted",
        200,
        envelope(
            {
                "cas_required": False,
                "created_time": TIME,
                "current_version": 1,
                "custom_metadata": None,
                "delete_version_after": "0s",
                "max_versions": 0,
                "oldest_version": 0,
                "updated_time": TIME,
                "versions": {"1": {"created_time": TIME, "deletion_time": TIME, "destroyed": False}},
            }
        ),
    ),
}


@pytest.mark.parametrize(("method", "path", "status", "expected"), KV2.values(), ids=KV2)
def test_kv_version_2(kv2, method, path, status, expected):
    check(say(kv2, method, f"{kv2.kv2}/{path}"), status, expected)


WRITES = {
    "a new secret": ("new", {"data": {"k": "v"}}, 200, envelope(version(1))),
    "one more version": ("apps/db", {"data": {}}, 200, envelope(version(3))),
    "after the version that is there": ("apps/db", {"data": {}, "options": {"cas": 2}}, 200, envelope(version(3))),
    "after another version": (
        "apps/db",
        {"data": {}, "options": {"cas": 1}},
        400,
        errors("check-and-set parameter did not match the current version"),
    ),
    "without data": ("apps/db", {"password": "x"}, 400, errors("no data provided")),
    "a folder": ("apps/", {"data": {}}, 400, errors("cannot write to a path ending in '/'")),
}


@pytest.mark.parametrize(("path", "body", "status", "expected"), WRITES.values(), ids=WRITES)
def test_a_write_to_kv_version_2(kv2, path, body, status, expected):
    check(say(kv2, "POST", f"{kv2.kv2}/data/{path}", body=body), status, expected)


def test_a_part_of_a_secret_is_written(kv2):
    merge = {"Content-Type": "application/merge-patch+json"}
    written = say(kv2, "PATCH", f"{kv2.kv2}/data/apps/db", body={"data": {"port": None, "user": "me"}}, headers=merge)
    check(written, 200, envelope(version(3)))
    read = say(kv2, "GET", f"{kv2.kv2}/data/apps/db").body["data"]["data"]
    assert read == {"password": "x", "tls": DATA["tls"], "user": "me"}


def test_a_secret_is_forgotten(kv2):
    check(say(kv2, "DELETE", f"{kv2.kv2}/metadata/apps/db"), 204, None)
    for path in ("data/apps/db", "data/apps/db?version=1", "metadata/apps/db"):
        check(say(kv2, "GET", f"{kv2.kv2}/{path}"), 404, MISSING)


def test_what_was_deleted_comes_back(kv2):
    check(say(kv2, "POST", f"{kv2.kv2}/undelete/deleted", body={"versions": [1]}), 204, None)
    read = say(kv2, "GET", f"{kv2.kv2}/data/deleted")
    check(read, 200, envelope({"data": {"password": "x"}, "metadata": version(1)}))


# --- Key-value, version 1

KV1 = {
    "a document": ("GET", "apps/db", 200, envelope({"password": "x", "port": 5432}, lease_duration=2764800)),
    "a document that says how long": ("GET", "lasting", 200, envelope({"k": "v", "ttl": "30m"}, lease_duration=1800)),
    "missing": ("GET", "none", 404, MISSING),
    "a folder": ("GET", "apps", 404, MISSING),
    "read as version 2": ("GET", "data/apps/db", 404, MISSING),
    "listed": ("LIST", "", 200, envelope({"keys": ["apps/", "lasting"]})),
    "an empty folder is listed": ("LIST", "none", 404, MISSING),
    "nothing is written": ("POST", "apps/db", 400, errors("missing data fields")),
    "a method that it does not have": ("PATCH", "apps/db", 400, errors("mime: no media type")),
    "deleted": ("DELETE", "apps/db", 204, None),
}


@pytest.mark.parametrize(("method", "path", "status", "expected"), KV1.values(), ids=KV1)
def test_kv_version_1(vault, method, path, status, expected):
    vault.put_v1("apps/db", {"password": "x", "port": 5432})
    vault.put_v1("lasting", {"k": "v", "ttl": "30m"})
    check(say(vault, method, f"{vault.kv1}/{path}"), status, expected)


# --- Who may

REFUSED = {
    "a path that the policy does not name": ("{kv2}/data/other", 403, DENIED_BY_POLICY),
    "a path below the policy's own": ("{kv2}/data/apps", 403, DENIED_BY_POLICY),
    "a mount that the policy does not name": ("{kv1}/apps/db", 403, DENIED_BY_POLICY),
    "a mount that is not there": ("nowhere/apps/db", 403, DENIED_BY_POLICY),
    "a missing secret that it may read": ("{kv2}/data/apps/none", 404, MISSING),
    "the system": ("sys/mounts", 403, DENIED_BY_POLICY),
}


@pytest.mark.parametrize(("path", "status", "expected"), REFUSED.values(), ids=REFUSED)
def test_a_token_that_may_read_little(vault, path, status, expected):
    little = vault.token(f"{vault.kv2}/data/apps/*")
    check(say(vault, "GET", filled(vault, path), token=little), status, expected)


@pytest.mark.parametrize("path", ["{kv2}/data/x", "nowhere/x", "sys/mounts", "auth/token/lookup-self"])
@pytest.mark.parametrize("unknown", [None, "hvs.unknown", "no token"])
def test_nobody_may_anything(vault, path, unknown):
    check(say(vault, "GET", filled(vault, path), token=unknown), 403, DENIED)


def test_a_token_may_come_as_a_bearer(vault):
    vault.put_v1("x", {"k": "v"})
    read = say(vault, "GET", f"{vault.kv1}/x", token=None, headers={"Authorization": f"Bearer {vault.root_token}"})
    check(read, 200, envelope({"k": "v"}, lease_duration=2764800))


RULES = {
    "a rule for one path is stronger than a prefix": ({"x/*": ["deny"], "x/a": ["read"]}, "x/a", 404),
    "a longer prefix is stronger": ({"*": ["read"], "x/*": ["deny"]}, "x/a", 403),
    "a plus stands for one segment": ({"x/+/c": ["read"]}, "x/b/c", 404),
    "and for no more than one": ({"x/+": ["read"]}, "x/b/c", 403),
    "a later wildcard is stronger": ({"x/+/c": ["read"], "x/b*": ["deny"]}, "x/b/c", 403),
    "to list is not to read": ({"x/*": ["list"]}, "x/a", 403),
}


@pytest.mark.parametrize(("rules", "path", "status"), RULES.values(), ids=RULES)
def test_rules_of_a_policy(vault, rules, path, status):
    holder = vault.token({f"{vault.kv1}/{rule}": words for rule, words in rules.items()})
    answered = say(vault, "GET", f"{vault.kv1}/{path}", token=holder)
    check(answered, status, MISSING if status == 404 else DENIED_BY_POLICY)


def test_a_policy_is_there_until_it_is_deleted(vault):
    path = f"sys/policies/acl/{vault.policy('x')}"
    holder = vault.token("y")
    check(say(vault, "GET", path), 200, envelope({"name": path.rpartition("/")[2], "policy": str}))
    check(say(vault, "GET", path, token=holder), 403, DENIED_BY_POLICY)
    check(say(vault, "DELETE", path), 204, None)
    check(say(vault, "GET", path), 404, MISSING)


def test_a_token_learns_what_it_may(vault):
    holder = vault.token("x/*")
    asked = {"paths": ["x/a", "y"]}
    answered = say(vault, "POST", "sys/capabilities-self", token=holder, body=asked)
    assert answered.status == 200
    assert answered.body["data"] == {"x/a": ["list", "read"], "y": ["deny"]}
    assert answered.body["x/a"] == ["list", "read"]


UNKNOWN = {
    "a mount": ("nowhere/x", errors('no handler for route "nowhere/x". route entry not found.')),
    "the mount alone": ("nowhere", errors('no handler for route "nowhere". route entry not found.')),
    "an auth method": ("auth/nowhere/x", errors('no handler for route "auth/nowhere/x". route entry not found.')),
    "a path of the system": ("sys/nowhere", errors("1 error occurred:\n\t* unsupported path\n\n")),
    "a path of an engine": ("{database}/nowhere", errors("1 error occurred:\n\t* unsupported path\n\n")),
}


@pytest.mark.parametrize(("path", "expected"), UNKNOWN.values(), ids=UNKNOWN)
def test_root_is_told_what_is_not_there(vault, path, expected):
    check(say(vault, "GET", filled(vault, path)), 404, expected)


def test_a_login_at_a_method_that_is_not_there_is_denied(vault):
    check(say(vault, "POST", "auth/nowhere/login", token=None, body={"role_id": "x"}), 403, DENIED)


# --- The preflight: which engine hangs at a path

NO_ACCESS = 'preflight capability check returned 403, please ensure client\'s policies grant access to path "{}"'
OF_SYSTEM = {
    "default_lease_ttl": 0,
    "force_no_cache": False,
    "max_lease_ttl": 0,
    "passthrough_request_headers": ["Accept"],
}
ABOUT_SYSTEM = "system endpoints used for control, policy and debugging"


def test_the_preflight_tells_the_engine_of_a_path(vault):
    allowed = vault.token(f"{vault.kv2}/data/apps/*", f"{vault.kv1}/apps", vault.creds())
    for path, kind, options in (
        (f"{vault.kv2}/apps/db", "kv", {"version": "2"}),
        (f"{vault.kv2}/data/other", "kv", {"version": "2"}),
        (vault.kv1, "kv", {"version": "1"}),
        (f"{vault.database}/creds/app", "database", {}),
    ):
        answered = say(vault, "GET", f"sys/internal/ui/mounts/{path}", token=allowed)
        check(answered, 200, mount(kind, path.partition("/")[0] + "/", options=options))


def test_the_preflight_knows_the_mounts_of_every_vault(vault):
    system = {"config": OF_SYSTEM, "description": ABOUT_SYSTEM, "options": None, "seal_wrap": True}
    check(say(vault, "GET", "sys/internal/ui/mounts/sys"), 200, mount("system", "sys/", **system))
    identity = {"config": {**OF_SYSTEM, "passthrough_request_headers": ["Authorization"]}, "options": None}
    identity |= {"description": "identity store"}
    check(say(vault, "GET", "sys/internal/ui/mounts/identity"), 200, mount("identity", "identity/", **identity))
    cubbyhole = {"description": "per-token private secret storage", "local": True, "options": None}
    check(say(vault, "GET", "sys/internal/ui/mounts/cubbyhole/x"), 200, mount("cubbyhole", "cubbyhole/", **cubbyhole))


PREFLIGHT = {
    "a mount that its token may not touch": ("{kv1}/x", False),
    "a mount that is not there": ("nowhere/x", False),
    "a mount that is not there, to root": ("nowhere/x", True),
}


@pytest.mark.parametrize(("path", "is_root"), PREFLIGHT.values(), ids=PREFLIGHT)
def test_the_preflight_does_not_tell_denied_from_missing(vault, path, is_root):
    path, holder = filled(vault, path), ROOT if is_root else vault.token(f"{vault.kv2}/*")
    answered = say(vault, "GET", f"sys/internal/ui/mounts/{path}", token=holder)
    check(answered, 403, errors(NO_ACCESS.format(f"{path}/")))


def test_the_preflight_needs_a_token(vault):
    check(say(vault, "GET", f"sys/internal/ui/mounts/{vault.kv2}", token=None), 403, DENIED)
    check(say(vault, "GET", f"sys/internal/ui/mounts/{vault.kv2}", token="hvs.unknown"), 403, DENIED)


def test_the_preflight_is_only_read(vault):
    check(say(vault, "POST", f"sys/internal/ui/mounts/{vault.kv2}"), 405, errors("unsupported operation"))


# --- Logins


def login_with_approle(vault, **more):
    role = vault.approle("x", **more)
    return "auth/approle/login", {"role_id": role.role_id, "secret_id": role.secret_id}, {"role_name": role.name}


def login_with_userpass(vault, **more):
    user = vault.userpass("x", **more)
    return f"auth/userpass/login/{user.username}", {"password": user.password}, {"username": user.username}


def login_with_jwt(vault, **more):
    role = vault.jwt("x", **more)
    return f"auth/{role.mount}/login", {"role": role.role, "jwt": role.jwt()}, {"role": "job"}


def login_with_kubernetes(vault, **more):
    role = vault.kubernetes("x", **more)
    account = {
        "role": "job",
        "service_account_name": "job",
        "service_account_namespace": "default",
        "service_account_secret_name": "",
        "service_account_uid": UUID,
    }
    return f"auth/{role.mount}/login", {"role": role.role, "jwt": role.jwt()}, account


LOGINS = {
    "approle": (login_with_approle, "approle"),
    "userpass": (login_with_userpass, "userpass-{username}"),
    "jwt": (login_with_jwt, "{mount}-job"),
    "kubernetes": (login_with_kubernetes, "{mount}-default-job"),
}


@pytest.mark.parametrize("method", ["POST", "PUT"])
@pytest.mark.parametrize(("login", "display_name"), LOGINS.values(), ids=LOGINS)
def test_a_login_gives_a_token(vault, login, display_name, method):
    path, body, about_it = login(vault)
    given = say(vault, method, path, token=None, body=body)
    policies = ["default", f"test-{vault.kv1.partition('-')[2]}-0"]
    check(given, 200, auth(policies, metadata=about_it))

    looked_up = say(vault, "GET", "auth/token/lookup-self", token=given.body["auth"]["client_token"])
    called = display_name.format(mount=path.split("/")[1], username=path.rpartition("/")[2])
    expected = {"display_name": called, "entity_id": UUID, "meta": about_it, "path": path}
    check(looked_up, 200, token(policies, **expected))


def test_a_login_does_not_look_at_a_token(vault):
    path, body, _ = login_with_approle(vault)
    assert say(vault, "POST", path, token="hvs.unknown", body=body).status == 200


def test_a_login_may_be_a_form(vault):
    user = vault.userpass("x")
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    sent = f"password={user.password}".encode()
    assert say(vault, "POST", f"auth/userpass/login/{user.username}", token=None, body=sent, headers=form).status == 200


ROLES = {
    "batch": (
        {"token_type": "batch"},
        {"client_token": BATCH_TOKEN, "accessor": "", "renewable": False, "token_type": "batch"},
    ),
    "period": ({"token_period": "1m"}, {"lease_duration": 60}),
    "number of uses": ({"token_num_uses": 5}, {"num_uses": 5}),
}


@pytest.mark.parametrize(("role", "expected"), ROLES.values(), ids=ROLES)
def test_a_role_says_what_its_tokens_are(vault, role, expected):
    path, body, about_it = login_with_approle(vault, **role)
    given = say(vault, "POST", path, token=None, body=body)
    check(given, 200, auth([str, str], metadata=about_it, **expected))


def test_a_role_caps_the_life_of_its_tokens(vault):
    path, body, _ = login_with_approle(vault, token_ttl=0, token_max_ttl="2m")
    given = say(vault, "POST", path, token=None, body=body).body
    assert given["auth"]["lease_duration"] == 120
    capped = 'TTL of "768h" exceeded the effective max_ttl of "2m"; TTL value is capped accordingly'
    assert given["warnings"] == [capped]


TOKEN_NOT_VALID = "error validating token: "
NOT_SIGNED = TOKEN_NOT_VALID + "error verifying token signature: "
BAD_LOGINS = {
    "approle, wrong secret": (login_with_approle, {"secret_id": "wrong"}, 400, "invalid secret id"),
    "approle, wrong role": (login_with_approle, {"role_id": "wrong"}, 400, "invalid role ID"),
    "approle, no secret": (login_with_approle, {"secret_id": None}, 400, "missing secret_id"),
    "userpass, wrong password": (login_with_userpass, {"password": "wrong"}, 400, "invalid username or password"),
    "userpass, no password": (login_with_userpass, {"password": None}, 500, "missing password"),
    "jwt, no token": (login_with_jwt, {"jwt": None}, 400, "missing token"),
    "jwt, no role": (login_with_jwt, {"role": None}, 400, "missing role"),
    "jwt, wrong role": (login_with_jwt, {"role": "other"}, 400, 'role "other" could not be found'),
    "jwt, no jwt": (
        login_with_jwt,
        {"jwt": "garbage"},
        400,
        NOT_SIGNED + "go-jose/go-jose: compact JWS format must have three parts",
    ),
    "kubernetes, no token": (login_with_kubernetes, {"jwt": None}, 400, "missing jwt"),
    "kubernetes, wrong role": (login_with_kubernetes, {"role": "other"}, 400, 'invalid role name "other"'),
    "kubernetes, no jwt": (login_with_kubernetes, {"jwt": "garbage"}, 403, "permission denied"),
}


@pytest.mark.parametrize(("login", "changed", "status", "message"), BAD_LOGINS.values(), ids=BAD_LOGINS)
def test_a_login_is_refused(vault, login, changed, status, message):
    path, body, _ = login(vault)
    sent = {name: value for name, value in (body | changed).items() if value is not None}
    check(say(vault, "POST", path, token=None, body=sent), status, errors(message))


BAD_JWTS = {
    "over": (
        {"exp": int(time.time()) - 4000},
        TOKEN_NOT_VALID + "invalid expiration time (exp) claim: token is expired",
    ),
    "for another": (
        {"aud": "another"},
        TOKEN_NOT_VALID + "invalid audience (aud) claim: audience claim does not match any expected audience",
    ),
}


@pytest.mark.parametrize(("claims", "message"), BAD_JWTS.values(), ids=BAD_JWTS)
def test_a_jwt_is_refused(vault, claims, message):
    role = vault.jwt("x")
    sent = {"role": role.role, "jwt": role.jwt(**claims)}
    check(say(vault, "POST", f"auth/{role.mount}/login", token=None, body=sent), 400, errors(message))


def test_a_jwt_that_another_signed_is_refused(vault):
    role, other = vault.jwt("x"), vault.jwt("x")
    sent = {"role": role.role, "jwt": other.jwt()}
    expected = errors(NOT_SIGNED + "no known key successfully validated the token signature")
    check(say(vault, "POST", f"auth/{role.mount}/login", token=None, body=sent), 400, expected)


def test_a_service_account_that_is_over_or_another_is_refused(vault):
    role = vault.kubernetes("x")
    path = f"auth/{role.mount}/login"
    over = {"role": role.role, "jwt": role.jwt(exp=int(time.time()) - 4000)}
    expected = errors("invalid expiration time (exp) claim: token is expired")
    check(say(vault, "POST", path, token=None, body=over), 403, expected)

    account = {"namespace": "default", "serviceaccount": {"name": "other", "uid": "x"}}
    other = {"role": role.role, "jwt": role.jwt(**{"kubernetes.io": account})}
    check(say(vault, "POST", path, token=None, body=other), 403, errors("service account name not authorized"))


def test_a_secret_id_is_used_up(vault):
    path, body, _ = login_with_approle(vault, secret_id_num_uses=2)
    assert [say(vault, "POST", path, token=None, body=body).status for _ in range(2)] == [200, 200]
    check(say(vault, "POST", path, token=None, body=body), 400, errors("invalid secret id"))


@pytest.mark.parametrize(
    ("role", "asked", "expected"),
    [
        pytest.param({}, {}, 0, id="none"),
        pytest.param({}, {"ttl": "90s"}, 90, id="asked"),
        pytest.param({"secret_id_ttl": "1h"}, {}, 3600, id="of the role"),
        pytest.param({"secret_id_ttl": "1h"}, {"ttl": "90s"}, 90, id="shorter"),
    ],
)
def test_a_secret_id_lasts_as_long_as_asked_or_as_its_role_says(vault, role, asked, expected):
    path = f"auth/approle/role/{vault.approle('x', **role).name}/secret-id"
    data = {"secret_id": UUID, "secret_id_accessor": UUID, "secret_id_num_uses": 0, "secret_id_ttl": expected}
    check(say(vault, "POST", path, body=asked), 200, envelope(data))


def test_a_secret_id_cannot_last_longer_than_its_role_says(vault):
    path = f"auth/approle/role/{vault.approle('x', secret_id_ttl='1h').name}/secret-id"
    expected = errors("ttl cannot be longer than the role's secret_id_ttl")
    check(say(vault, "POST", path, body={"ttl": "3601s"}), 400, expected)


def test_a_login_is_not_read(vault):
    user = vault.userpass("x")
    path = f"auth/userpass/login/{user.username}"
    check(say(vault, "GET", path, token=None), 405, errors("unsupported operation"))


# --- Tokens


def made(vault, holder=ROOT, path="auth/token/create", **asked):
    """Create a token, and return it."""
    given = say(vault, "POST", path, token=holder, body=asked)
    assert given.status == 200, given
    return given.body["auth"]["client_token"]


def test_a_token_is_looked_up(vault):
    policies = ["default", vault.policy("x")]
    holder = made(vault, policies=[policies[1]], ttl="1h", meta={"job": "a"}, display_name="b", no_parent=True)
    expected = token(policies, meta={"job": "a"}, display_name="token-b")
    check(say(vault, "GET", "auth/token/lookup-self", token=holder), 200, expected)


def test_root_is_looked_up(vault):
    looked_up = say(vault, "GET", "auth/token/lookup-self")
    assert looked_up.status == 200
    found = looked_up.body["data"]
    assert (found["policies"], found["expire_time"], found["ttl"]) == (["root"], None, 0)
    assert "renewable" not in found


def warning(asked):
    """Return the pattern of what a renewal says that asks for too much. What is left becomes less meanwhile."""
    return re.compile(rf'TTL of "{asked}" exceeded the effective max_ttl of "\w+"; TTL value is capped accordingly')


RENEWALS = {
    "as at first": ({"ttl": "1h"}, {}, about(3600), None),
    "by more": ({"ttl": "1h"}, {"increment": "2h"}, about(7200), None),
    "by seconds": ({"ttl": "1h"}, {"increment": 600}, about(600), None),
    "no further than its end": (
        {"ttl": "1h", "explicit_max_ttl": "90m"},
        {"increment": "5h"},
        about(5400),
        [warning("5h")],
    ),
    "by its period": ({"period": "10m"}, {"increment": "5h"}, about(600), None),
}


@pytest.mark.parametrize(("asked", "body", "duration", "warnings"), RENEWALS.values(), ids=RENEWALS)
def test_a_token_is_renewed(vault, asked, body, duration, warnings):
    policies = ["default", vault.policy("x")]
    holder = made(vault, policies=[policies[1]], no_parent=True, **asked)
    renewed = say(vault, "POST", "auth/token/renew-self", token=holder, body=body)
    expected = auth(policies, lease_duration=duration, entity_id="")
    check(renewed, 200, {**expected, "warnings": warnings})

    found = say(vault, "GET", "auth/token/lookup-self", token=holder).body["data"]
    assert found["ttl"] in range(duration.start, duration.stop)
    assert found["last_renewal_time"] == pytest.approx(time.time(), abs=LONGEST)
    assert TIME.fullmatch(found["last_renewal"])


NOT_RENEWED = {
    "not renewable": ({"renewable": False}, {}, "lease is not renewable"),
    "batch": ({"type": "batch"}, {}, "batch tokens cannot be renewed"),
    "no duration": ({}, {"increment": "soon"}, f"Field validation failed: {BAD_INCREMENT}"),
}


@pytest.mark.parametrize(("asked", "body", "message"), NOT_RENEWED.values(), ids=NOT_RENEWED)
def test_a_token_is_not_renewed(vault, asked, body, message):
    holder = made(vault, policies=[vault.policy("x")], ttl="1h", **asked)
    check(say(vault, "POST", "auth/token/renew-self", token=holder, body=body), 400, errors(message))


def test_root_is_not_renewed(vault):
    check(say(vault, "POST", "auth/token/renew-self"), 400, errors("invalid lease ID"))


def test_a_revoked_token_is_denied(vault):
    holder = vault.token("*")
    check(say(vault, "POST", "auth/token/revoke-self", token=holder), 204, None)
    check(say(vault, "GET", "auth/token/lookup-self", token=holder), 403, DENIED)
    check(say(vault, "POST", "auth/token/revoke-self", token=holder), 403, DENIED)


def test_an_expired_token_is_denied(vault):
    holder = vault.token("*", ttl=1)
    assert say(vault, "GET", "auth/token/lookup-self", token=holder).status == 200
    vault.advance(1.5)
    check(say(vault, "GET", "auth/token/lookup-self", token=holder), 403, DENIED)
    check(say(vault, "POST", "auth/token/renew-self", token=holder), 403, DENIED)


def test_a_token_that_is_used_up_is_denied(vault):
    vault.put_v1("x", {"k": "v"})
    holder = vault.token(num_uses=2)
    assert [say(vault, "GET", f"{vault.kv1}/x", token=holder).status for _ in range(3)] == [200, 200, 403]


def test_a_child_ends_with_its_parent_and_an_orphan_does_not(vault):
    parent = vault.token({"auth/token/*": ["update", "sudo"]})
    child, orphan = made(vault, parent), made(vault, parent, path="auth/token/create-orphan")
    say(vault, "POST", "auth/token/revoke-self", token=parent)
    check(say(vault, "GET", "auth/token/lookup-self", token=child), 403, DENIED)
    found = say(vault, "GET", "auth/token/lookup-self", token=orphan).body["data"]
    assert (found["orphan"], found["path"]) == (True, "auth/token/create-orphan")


ASKED_FOR_TOO_MUCH = {
    "an orphan": ({"no_parent": True}, "root or sudo privileges required to create orphan token"),
    "root": ({"policies": ["root"]}, "child policies must be subset of parent"),
    "another policy": ({"policies": ["other"]}, "child policies must be subset of parent"),
    "no kind of token": ({"type": "other"}, "invalid 'token_type' value"),
}


@pytest.mark.parametrize(("asked", "message"), ASKED_FOR_TOO_MUCH.values(), ids=ASKED_FOR_TOO_MUCH)
def test_a_token_does_not_make_one_that_may_more(vault, asked, message):
    parent = vault.token({"auth/token/*": ["update"]})
    check(say(vault, "POST", "auth/token/create", token=parent, body=asked), 400, errors(message))


def test_a_batch_token_reads_and_is_not_revoked(vault):
    vault.put_v1("x", {"k": "v"})
    policies = ["default", vault.policy(f"{vault.kv1}/*")]
    holder = made(vault, policies=[policies[1]], ttl="1h", type="batch", no_parent=True)
    assert BATCH_TOKEN.fullmatch(holder)
    assert say(vault, "GET", f"{vault.kv1}/x", token=holder).status == 200
    batch = {"accessor": "", "id": BATCH_TOKEN, "renewable": False, "type": "batch"}
    check(say(vault, "GET", "auth/token/lookup-self", token=holder), 200, token(policies, **batch))
    refused = errors("batch tokens cannot be revoked")
    check(say(vault, "POST", "auth/token/revoke-self", token=holder), 400, refused)


def test_accessors_are_for_root(vault):
    holder = vault.token("*")
    accessor = say(vault, "GET", "auth/token/lookup-self", token=holder).body["data"]["accessor"]
    assert accessor in say(vault, "LIST", "auth/token/accessors").body["data"]["keys"]
    check(say(vault, "LIST", "auth/token/accessors", token=holder), 403, DENIED_BY_POLICY)
    check(say(vault, "POST", "auth/token/revoke-accessor", body={"accessor": accessor}), 204, None)
    check(say(vault, "GET", "auth/token/lookup-self", token=holder), 403, DENIED)


OF_OTHERS = {
    "look up": ("lookup", {"token": "hvs.unknown"}, 403, errors("bad token")),
    "renew": ("renew", {"token": "hvs.unknown"}, 400, errors("token not found")),
    "revoke": ("revoke", {"token": "hvs.unknown"}, 204, None),
    "revoke by accessor": (
        "revoke-accessor",
        {"accessor": "unknown"},
        200,
        envelope(warnings=["No token found with this accessor"]),
    ),
    "a path that is not there": ("nowhere", {}, 404, errors("1 error occurred:\n\t* unsupported path\n\n")),
}


@pytest.mark.parametrize(("path", "body", "status", "expected"), OF_OTHERS.values(), ids=OF_OTHERS)
def test_a_token_that_is_not_known(vault, path, body, status, expected):
    check(say(vault, "POST", f"auth/token/{path}", body=body), status, expected)


# --- Leases


def leased(vault, holder=ROOT, **times):
    """Read credentials and give the id of their lease."""
    return say(vault, "GET", vault.creds(**times), token=holder).body["lease_id"]


def look_up(vault, lease):
    return say(vault, "PUT", "sys/leases/lookup", body={"lease_id": lease})


def check_it_ended(vault, lease):
    """A lease ends a moment after what ends it."""
    assert eventually(lambda: look_up(vault, lease).status != 200)
    check(look_up(vault, lease), 400, errors("invalid lease"))


def test_credentials_are_leased(vault):
    path = vault.creds(ttl=60, max_ttl=600)
    read = say(vault, "GET", path)
    expected = envelope(
        {"username": re.compile(r"v-root-app-[0-9a-f]{16}"), "password": re.compile(r"[\w-]{20}")},
        lease_id=re.compile(rf"{path}/[0-9A-Za-z]{{24}}"),
        lease_duration=60,
        renewable=True,
    )
    check(read, 200, expected)
    assert say(vault, "GET", path).body["data"]["username"] != read.body["data"]["username"]


CREDENTIALS = {
    "of no role": ("GET", "creds/none", 400, errors("unknown role: none")),
    "are not written": ("POST", "creds/app", 405, UNSUPPORTED),
    "have no list": ("GET", "creds", 404, errors("1 error occurred:\n\t* unsupported path\n\n")),
}


@pytest.mark.parametrize(("method", "path", "status", "expected"), CREDENTIALS.values(), ids=CREDENTIALS)
def test_credentials(vault, method, path, status, expected):
    vault.creds()
    check(say(vault, method, f"{vault.database}/{path}"), status, expected)


def test_an_engine_says_what_it_did_not_understand(vault):
    warned = say(vault, "GET", f"{vault.creds()}?version=3")
    assert warned.status == 200
    assert warned.body["warnings"] == ["Endpoint ignored these unrecognized parameters: [version]"]


def test_a_lease_is_looked_up(vault):
    lease = leased(vault, ttl=3600)
    described = {
        "id": lease,
        "issue_time": TIME,
        "expire_time": TIME,
        "last_renewal": None,
        "renewable": True,
        "ttl": about(3600),
    }
    check(look_up(vault, lease), 200, envelope(described))


LEASE_RENEWALS = {
    "as at first": ({}, 600, None),
    "by more": ({"increment": 1200}, 1200, None),
    "no further than its end": ({"increment": 7200}, 1800, [warning("2h")]),
}


@pytest.mark.parametrize(("asked", "duration", "warnings"), LEASE_RENEWALS.values(), ids=LEASE_RENEWALS)
def test_a_lease_is_renewed(vault, asked, duration, warnings):
    holder = vault.token()
    lease = leased(vault, holder, ttl=600, max_ttl=1800)
    renewed = say(vault, "PUT", "sys/leases/renew", token=holder, body={"lease_id": lease, **asked})
    expected = envelope(lease_id=lease, lease_duration=about(duration), renewable=True, warnings=warnings)
    check(renewed, 200, expected)


def test_a_lease_is_revoked(vault):
    lease = leased(vault)
    check(say(vault, "PUT", "sys/leases/revoke", body={"lease_id": lease}), 204, None)
    check_it_ended(vault, lease)
    check(say(vault, "PUT", "sys/leases/renew", body={"lease_id": lease}), 400, errors("lease not found"))
    check(say(vault, "PUT", "sys/leases/revoke", body={"lease_id": lease}), 204, None)


def test_a_lease_needs_its_id(vault):
    for what in ("lookup", "renew", "revoke"):
        check(say(vault, "PUT", f"sys/leases/{what}", body={}), 400, errors("lease_id must be specified"))


def test_who_may_read_credentials_may_renew_and_not_revoke_them(vault):
    holder = vault.token(vault.creds())
    lease = leased(vault, holder)
    assert say(vault, "PUT", "sys/leases/renew", token=holder, body={"lease_id": lease}).status == 200
    refused = say(vault, "PUT", "sys/leases/revoke", token=holder, body={"lease_id": lease})
    check(refused, 403, DENIED_BY_POLICY)


ENDS = {
    "is revoked": (3600, lambda vault, holder: say(vault, "POST", "auth/token/revoke-self", token=holder)),
    "expires": (1, lambda vault, holder: vault.advance(2)),
}


@pytest.mark.parametrize(("ttl", "end"), ENDS.values(), ids=ENDS)
def test_a_lease_ends_when_its_token(vault, ttl, end):
    holder = vault.token(ttl=ttl)
    lease = leased(vault, holder)
    assert vault.live_leases() == {lease}
    end(vault, holder)
    check_it_ended(vault, lease)
    assert eventually(lambda: not vault.live_leases())


def test_a_lease_of_a_batch_token_ends_no_later_than_it(vault):
    holder = made(vault, policies=[vault.policy()], ttl="10m", type="batch")
    assert say(vault, "GET", vault.creds(ttl=3600), token=holder).body["lease_duration"] in about(600)


def test_an_expired_lease_is_gone(vault):
    lease = leased(vault, ttl=1, max_ttl=1)
    vault.advance(2)
    check_it_ended(vault, lease)


@pytest.mark.parametrize("slash", ["", "/"])
def test_leases_are_listed_below_a_prefix(vault, slash):
    lease = leased(vault)
    role, _, name = lease.rpartition("/")
    for prefix, key in ((role, name), (f"{vault.database}/creds", "app/"), (vault.database, "creds/")):
        for method, query in (("LIST", ""), ("GET", "?list=true")):
            listed = say(vault, method, f"sys/leases/lookup/{prefix}{slash}{query}")
            check(listed, 200, envelope({"keys": [key]}))


def test_leases_are_listed_for_root(vault):
    leased(vault)
    check(say(vault, "LIST", f"sys/leases/lookup/{vault.database}", token=vault.token("*")), 403, DENIED_BY_POLICY)
    check(say(vault, "LIST", "sys/leases/lookup/nowhere"), 404, MISSING)


def test_leases_are_revoked_below_a_prefix(vault):
    lease = leased(vault)
    check(say(vault, "PUT", f"sys/leases/revoke-prefix/{vault.database}"), 204, None)
    check_it_ended(vault, lease)


# --- The server

HEALTH = {
    "initialized": True,
    "sealed": False,
    "standby": False,
    "performance_standby": False,
    "replication_performance_mode": "disabled",
    "replication_dr_mode": "disabled",
    "server_time_utc": int,
    "version": str,
    "cluster_name": str,
    "cluster_id": UUID,
}
SEALED_HEALTH = {name: value for name, value in HEALTH.items() if not name.startswith("cluster")} | {
    "sealed": True,
    "standby": True,
    "replication_performance_mode": "unknown",
    "replication_dr_mode": "unknown",
}
SEAL_STATUS = {
    "type": "shamir",
    "initialized": True,
    "sealed": False,
    "t": 1,
    "n": 1,
    "progress": 0,
    "nonce": "",
    "version": str,
    "build_date": str,
    "migration": False,
    "recovery_seal": False,
    "storage_type": "inmem",
    "cluster_name": str,
    "cluster_id": UUID,
}


def test_health(vault):
    check(say(vault, "GET", "sys/health", token=None), 200, HEALTH)
    check(say(vault, "GET", "sys/health?activecode=299&standbyok=true", token=None), 299, HEALTH)
    check(say(vault, "HEAD", "sys/health", token=None), 200, None)


def test_seal_status(vault):
    check(say(vault, "GET", "sys/seal-status", token=None), 200, SEAL_STATUS)
    check(say(vault, "GET", "sys/init", token=None), 200, {"initialized": True})


def test_a_sealed_server_says_so_and_nothing_else(vault):
    path, body, _ = login_with_approle(vault)
    vault.put("x", {"k": "v"})
    with vault.sealed():
        check(say(vault, "GET", "sys/health", token=None), 503, SEALED_HEALTH)
        check(say(vault, "GET", "sys/health?sealedcode=299", token=None), 299, SEALED_HEALTH)
        status = {name: value for name, value in SEAL_STATUS.items() if not name.startswith("cluster")}
        check(say(vault, "GET", "sys/seal-status", token=None), 200, status | {"sealed": True})
        check(say(vault, "GET", f"{vault.kv2}/data/x"), 503, SEALED)
        check(say(vault, "GET", f"{vault.kv2}/data/x", token=None), 503, SEALED)
        check(say(vault, "POST", path, token=None, body=body), 503, SEALED)
        check(say(vault, "GET", f"sys/internal/ui/mounts/{vault.kv2}"), 503, SEALED)
    assert say(vault, "GET", f"{vault.kv2}/data/x").status == 200


def test_a_namespace_comes_back_and_changes_nothing(vault):
    """Namespaces are not in the free Vault: it answers as if none was named."""
    vault.put("x", {"k": "v"})
    for holder, status in ((ROOT, 200), ("hvs.unknown", 403)):
        named = say(vault, "GET", f"{vault.kv2}/data/x", token=holder, headers={"X-Vault-Namespace": "team/a"})
        assert (named.status, named.headers["x-vault-namespace"]) == (status, "team/a")
    assert "x-vault-namespace" not in say(vault, "GET", f"{vault.kv2}/data/x").headers
    check(say(vault, "LIST", "sys/namespaces"), 404, errors("enterprise-only feature"))


METHODS = {
    "HEAD": (405, None),
    "OPTIONS": (405, UNSUPPORTED),
    "TRACE": (405, MISSING),
    "PROPFIND": (405, MISSING),
    "NONE": (405, MISSING),
}


@pytest.mark.parametrize(
    ("method", "status", "expected"), [(name, *rest) for name, rest in METHODS.items()], ids=METHODS
)
def test_a_method_that_is_not_known(vault, method, status, expected):
    check(say(vault, method, f"{vault.kv1}/x"), status, expected)


CLEANED = {
    "two slashes": ("{kv2}/data//x", "{kv2}/data/x"),
    "a dot": ("{kv2}/data/./x", "{kv2}/data/x"),
    "two dots": ("{kv2}/data/y/../x", "{kv2}/data/x"),
    "two dots to another engine": ("{kv2}/data/../../sys/mounts", "sys/mounts"),
    "quoted dots": ("{kv2}/data/%2e%2e/x", "{kv2}/x"),
    "a query": ("{kv2}/data//x?version=1", "{kv2}/data/x?version=1"),
}


@pytest.mark.parametrize(("path", "target"), CLEANED.values(), ids=CLEANED)
def test_a_path_is_cleaned_by_a_redirect(vault, path, target):
    moved = say(vault, "GET", filled(vault, path))
    target = f"/v1/{filled(vault, target)}"
    assert (moved.status, moved.headers["location"]) == (301, target)
    assert moved.headers["content-type"] == "text/html; charset=utf-8"
    assert moved.body == f'<a href="{target}">Moved Permanently</a>.\n\n'


ODD_PATHS = {
    "a quoted slash is one": ("{kv2}/data/apps%2Fx", 200),
    "a plus is no blank": ("{kv2}/data/a+b", 404),
    "a line break": ("{kv2}/data/a%0Ab", 400),
    "a zero byte": ("{kv2}/data/a%00", 400),
    "a percent sign alone": ("{kv2}/data/a%", 400),
    "another case": ("SYS/health", 404),
}


@pytest.mark.parametrize(("path", "status"), ODD_PATHS.values(), ids=ODD_PATHS)
def test_an_odd_path(vault, path, status):
    vault.put("apps/x", {"k": "v"})
    assert say(vault, "GET", filled(vault, path)).status == status


def test_what_is_not_below_v1_is_not_there(vault):
    check(ask(vault.address, "GET", "/v2/sys/health"), 404, MISSING)


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", None])
def test_a_body_is_json_whatever_it_says(vault, content_type):
    headers = {"Content-Type": content_type} if content_type else {}
    sent = '{"ü": "ß", "n": 1.50, "big": 12345678901234567890}'.encode()
    check(say(vault, "POST", f"{vault.kv1}/x", body=sent, headers=headers), 204, None)
    assert say(vault, "GET", f"{vault.kv1}/x").body["data"] == {"ü": "ß", "n": 1.5, "big": 12345678901234567890}


BODIES = {"no JSON": b"{", "a list": b"[1]", "a text": b'"x"'}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_body_that_is_no_object_is_refused(vault, body):
    check(say(vault, "POST", f"{vault.kv1}/x", body=body), 400, errors("error parsing JSON"))


def test_answers_are_json_that_is_not_kept(vault):
    vault.put("x", {"k": "v"})
    for path, holder in ((f"{vault.kv2}/data/x", ROOT), (f"{vault.kv2}/data/none", ROOT), ("sys/mounts", None)):
        headers = say(vault, "GET", path, token=holder).headers
        assert headers["content-type"] == "application/json"
        assert headers["cache-control"] == "no-store"
        assert int(headers["content-length"]) > 0
