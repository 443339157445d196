"""A connection that works with apache-airflow-providers-hashicorp, and the login that reaches Vault."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.exceptions import ProviderDefinitionError
from airflow_config_providers.providers.vault.parameters import (
    _EXTRA,
    _KWARGS,
    AUTH_TYPES,
    read_connection,
    read_settings,
)
from airflow_config_providers.providers.vault.settings import VaultSettings
from tests.servers.recorder import GIVEN_TOKEN, Recorded, Recorder, signed_in

THIRTY_TWO_DAYS = 2764800.0


def connection(extra: object = None, **fields: Any) -> SimpleNamespace:
    """A connection with what every connection has."""
    usual = {"conn_type": "vault", "host": "vault", "port": None, "schema": None, "login": None, "password": None}
    return SimpleNamespace(**{**usual, **fields}, extra=extra if isinstance(extra, str) else json.dumps(extra or {}))


def settings_of(made: object, **params: Any) -> VaultSettings:
    return read_settings({"conn_id": "v", **params}, connections=lambda conn_id: made, environ={})


def problems_of(made: object) -> tuple[str, ...]:
    with pytest.raises(ProviderDefinitionError) as caught:
        settings_of(made)
    return caught.value.problems


@pytest.fixture
def vault_port(address: str) -> int:
    return int(address.rpartition(":")[2])


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name in ("jwt", "token", "secret-id"):
        (tmp_path / name).write_text(f"{name}-of-the-file\n")
    return tmp_path


@pytest.mark.parametrize(
    ("fields", "extra", "path", "body"),
    [
        pytest.param(
            {"login": "role", "password": "secret"},
            {"auth_type": "approle"},
            "approle/login",
            {"role_id": "role", "secret_id": "secret"},
            id="approle",
        ),
        pytest.param(
            {"login": "role"},
            {"auth_type": "approle"},
            "approle/login",
            {"role_id": "role", "secret_id": None},
            id="approle without a secret ID",
        ),
        pytest.param(
            {},
            {"auth_type": "approle", "role_id": "role", "secret_id_path": "{files}/secret-id"},
            "approle/login",
            {"role_id": "role", "secret_id": "secret-id-of-the-file"},
            id="approle with a file",
        ),
        pytest.param(
            {"password": "gh"}, {"auth_type": "github"}, "github/login", {"token": "gh"}, id="github with a token"
        ),
        pytest.param(
            {},
            {"auth_type": "github", "token_path": "{files}/token"},
            "github/login",
            {"token": "token-of-the-file"},
            id="github with a file",
        ),
        pytest.param(
            {},
            {"auth_type": "jwt", "jwt_role": "jobs", "jwt_token": " ey.j.wt\n"},
            "jwt/login",
            {"role": "jobs", "jwt": "ey.j.wt"},
            id="jwt",
        ),
        pytest.param(
            {},
            {"auth_type": "jwt", "jwt_role": "jobs", "jwt_token_path": "{files}/jwt"},
            "jwt/login",
            {"role": "jobs", "jwt": "jwt-of-the-file"},
            id="jwt with a file",
        ),
        pytest.param(
            {},
            {"auth_type": "jwt", "jwt_role": "jobs", "jwt_token": "given", "jwt_token_path": "{files}/jwt"},
            "jwt/login",
            {"role": "jobs", "jwt": "given"},
            id="jwt with both",
        ),
        pytest.param(
            {},
            {"auth_type": "kubernetes", "kubernetes_role": "jobs", "kubernetes_jwt_path": "{files}/jwt"},
            "kubernetes/login",
            {"role": "jobs", "jwt": "jwt-of-the-file"},
            id="kubernetes",
        ),
        pytest.param(
            {"login": "ann", "password": " p "},
            {"auth_type": "ldap"},
            "ldap/login/ann",
            {"password": " p "},
            id="ldap",
        ),
        pytest.param(
            {"login": "ann", "password": "p"},
            {"auth_type": "userpass"},
            "userpass/login/ann",
            {"password": "p"},
            id="userpass",
        ),
        pytest.param(
            {"login": "a n?n#/b", "password": "p"},
            {"auth_type": "userpass"},
            "userpass/login/a n?n#/b",
            {"password": "p"},
            id="userpass with a name that must be quoted",
        ),
        pytest.param(
            {"login": "ann", "password": "p"},
            {"auth_type": "radius", "radius_host": "radius", "radius_port": "1812"},
            "radius/login/ann",
            {"password": "p"},
            id="radius",
        ),
    ],
)
@pytest.mark.parametrize("mount", [None, "other/place"], ids=["usual mount", "another mount"])
def test_the_login_that_reaches_vault(
    recorder: Recorder,
    vault_port: int,
    files: Path,
    *,
    fields: dict[str, Any],
    extra: dict[str, Any],
    path: str,
    body: dict[str, Any],
    mount: str | None,
) -> None:
    pytest.importorskip("hvac")
    written = json.dumps({**extra, "auth_mount_point": mount}).replace("{files}", str(files))
    settings = settings_of(connection(written, host="127.0.0.1", port=vault_port, **fields))

    token = signed_in(settings)

    method, _, rest = path.partition("/")
    assert recorder.requests() == [Recorded("POST", f"/v1/auth/{mount or method}/{rest}", body, {})]
    assert (token.token, token.ttl, token.is_renewable, token.is_ours) == (GIVEN_TOKEN, THIRTY_TWO_DAYS, True, True)


@pytest.mark.parametrize(
    ("fields", "extra", "expected"),
    [
        pytest.param({"password": "root"}, {}, "root", id="token is the usual way"),
        pytest.param({"password": "root"}, {"auth_type": "token"}, "root", id="token"),
        pytest.param(
            {"password": "root"}, {"token_path": "{files}/token"}, "token-of-the-file", id="a file counts more"
        ),
    ],
)
def test_a_token_needs_no_login(
    recorder: Recorder, vault_port: int, files: Path, fields: Any, extra: Any, expected: str
) -> None:
    pytest.importorskip("hvac")
    written = json.dumps(extra).replace("{files}", str(files))
    settings = settings_of(connection(written, host="127.0.0.1", port=vault_port, **fields))

    token = signed_in(settings)

    assert recorder.requests() == []
    assert (token.token, token.ttl, token.is_ours) == (expected, None, False)


@pytest.mark.parametrize(
    ("fields", "extra", "expected"),
    [
        pytest.param({}, {}, "http://vault", id="vault"),
        pytest.param({"conn_type": "vaults"}, {}, "https://vault", id="vaults"),
        pytest.param({"conn_type": "http"}, {}, "http://vault", id="http"),
        pytest.param({"conn_type": "https", "port": 8200}, {}, "https://vault:8200", id="https and a port"),
        pytest.param({}, {"use_tls": True}, "https://vault", id="use_tls"),
        pytest.param({}, {"use_tls": "true"}, "https://vault", id="use_tls as a text"),
        pytest.param({"conn_type": "vaults"}, {"use_tls": "0"}, "http://vault", id="use_tls counts more"),
        pytest.param({"conn_type": "generic"}, {"use_tls": True}, "https://vault", id="use_tls and any type"),
        pytest.param({"conn_type": "vaults"}, {"use_tls": ""}, "https://vault", id="an empty use_tls"),
        pytest.param({"host": "::1", "port": 8200}, {}, "http://[::1]:8200", id="IPv6"),
        pytest.param({"host": "gate/vault"}, {}, "http://gate/vault", id="a path in the host"),
        pytest.param({"host": "vault:8201"}, {}, "http://vault:8201", id="a port in the host"),
    ],
)
def test_the_address(fields: dict[str, Any], extra: dict[str, Any], expected: str) -> None:
    assert settings_of(connection(extra, password="t", **fields)).url == expected


def test_the_mount_and_the_version_of_the_engine() -> None:
    settings = settings_of(connection({"kv_engine_version": "1"}, password="t", schema="kv/team"))

    assert (settings.mount_point, settings.kv_version) == ("kv/team", 1)


def test_without_a_schema_paths_begin_with_their_mount_and_the_version_is_found_out() -> None:
    settings = settings_of(connection(password="t", schema=""))

    assert (settings.mount_point, settings.kv_version) == (None, None)


def test_client_kwargs(tmp_path: Path) -> None:
    for name in ("ca", "cert", "key"):
        (tmp_path / name).touch()
    ca, cert, key = (str(tmp_path / name) for name in ("ca", "cert", "key"))
    kwargs = {
        "verify": ca,
        "cert": [cert, key],
        "proxies": {"https": "http://proxy"},
        "namespace": "team",
        "timeout": 3.5,
        "strict_http": True,
        "allow_redirects": False,
    }
    settings = settings_of(connection({"client_kwargs": kwargs}, password="t"))

    assert (settings.verify, settings.cert) == (ca, (cert, key))
    assert (settings.proxies, settings.namespace, settings.timeout) == ((("https", "http://proxy"),), "team", 3.5)


@pytest.mark.parametrize("verify", [False, "false"])
def test_verification_is_off_where_client_kwargs_say_so(verify: object) -> None:
    assert settings_of(connection({"client_kwargs": {"verify": verify}}, password="t")).verify is False


@pytest.mark.parametrize("kwargs", [None, {}, "", '{"namespace": null}', {"timeout": None}])
def test_client_kwargs_that_say_nothing(kwargs: object) -> None:
    settings = settings_of(connection({"client_kwargs": kwargs}, password="t"))

    assert (settings.namespace, settings.timeout, settings.verify) == (None, 10.0, True)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        pytest.param(connection("{"), "its extra is not a JSON object", id="extra"),
        pytest.param(connection("[1]"), "its extra is not a JSON object", id="extra is a list"),
        pytest.param(connection(conn_type="mysql"), "its type is mysql. Make it vault or vaults", id="type"),
        pytest.param(connection(host=None), "it has no host", id="host"),
        pytest.param(connection(host="https://v"), "its host begins with a scheme", id="scheme"),
        pytest.param(connection({"use_tls": "maybe"}), "use_tls in its extra is neither true nor false", id="use_tls"),
        pytest.param(connection({"client_kwargs": [1]}), "client_kwargs in its extra is not a JSON object", id="list"),
        pytest.param(
            connection({"client_kwargs": {"session": "x"}}), "session cannot be given: the provider has", id="session"
        ),
        pytest.param(
            connection({"client_kwargs": {"allow_redirects": True}}), "redirects are never followed", id="redirects"
        ),
        pytest.param(
            connection({"client_kwargs": {"verfy": False}}),
            "there is no 'verfy', did you mean 'verify'? Leave it out.",
            id="name",
        ),
    ],
)
def test_a_connection_that_cannot_be_used_says_why(made: object, expected: str) -> None:
    (problem,) = problems_of(made)

    assert problem.startswith("Connection 'v': ")
    assert expected in problem


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        pytest.param(connection(), "auth_type token needs token_path or token", id="token"),
        pytest.param(connection({"auth_type": "radius"}, password="shared"), "radius needs username", id="radius"),
        pytest.param(
            connection({"auth_type": "azure", "azure_tenant_id": "t", "azure_resource": "r"}, login="i", password="s"),
            "auth_type azure needs azure_role",
            id="azure",
        ),
        pytest.param(connection({"auth_type": "kerberos"}), "There is no auth_type 'kerberos'", id="auth type"),
        pytest.param(connection({"auth_type": ["token"]}), "auth_type is not a string", id="auth type is a list"),
    ],
)
def test_a_login_that_lacks_something_says_what(made: object, expected: str) -> None:
    assert expected in problems_of(made)[0]


def test_what_the_hook_does_not_read_is_left_alone() -> None:
    extra = {"namespace": "x", "token": "x", "username": "x", "url": "http://evil", "gcp_keyfile_dict": {"a": 1}}

    options, problems = read_connection(connection(extra, password="t"))

    assert problems == []
    assert options == {
        "auth_type": "token",
        "mount_point": None,
        "url": "http://vault",
        "token": "t",
        "gcp_keyfile_dict": {"a": 1},
    }


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)
NAMES = st.sampled_from(["auth_type", "client_kwargs", "use_tls", *_EXTRA])
KWARGS = st.dictionaries(st.sampled_from(["verify", "cert", *_KWARGS, "session"]), VALUES)
TYPES = st.sampled_from(sorted(AUTH_TYPES))


@given(
    extra=st.dictionaries(NAMES, VALUES | KWARGS | TYPES, max_size=8) | st.text(),
    login=st.none() | st.text(),
    password=st.none() | st.text(),
)
def test_whatever_a_connection_holds_it_gives_settings_or_problems(
    extra: object, login: str | None, password: str | None
) -> None:
    with contextlib.suppress(ProviderDefinitionError):
        hash(settings_of(connection(extra, login=login, password=password)))


def test_a_gcp_role_in_the_extra_counts_more_than_the_login() -> None:
    options, _ = read_connection(connection({"auth_type": "gcp", "role_id": "extra"}, login="login"))

    assert options["role_id"] == "extra"
