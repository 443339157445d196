from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.core.process_environment import lacking
from airflow_config_providers.exceptions import ProviderDefinitionError
from airflow_config_providers.providers.vault.logins.approle import APPROLE
from airflow_config_providers.providers.vault.logins.credentials import KUBERNETES, USERPASS, TokenLogin
from airflow_config_providers.providers.vault.logins.login import Credential, CredentialLogin
from airflow_config_providers.providers.vault.parameters import PARAMS, read_settings
from airflow_config_providers.providers.vault.provider import VaultConfigProvider
from airflow_config_providers.providers.vault.settings import VaultSettings

URL = "https://vault.example.com:8200"
ENOUGH = {"url": URL, "token_path": "/run/token"}


def read(
    params: dict[str, Any], *, environ: dict[str, str] | None = None, connection: object | None = None
) -> VaultSettings:
    return read_settings(params, connections=lambda conn_id: connection, environ=environ or {})


def problems(params: dict[str, Any], **more: Any) -> tuple[str, ...]:
    with pytest.raises(ProviderDefinitionError) as caught:
        read(params, **more)
    assert caught.value.__context__ is None
    return caught.value.problems


def connection(extra: object = None, **fields: Any) -> SimpleNamespace:
    usual = {"conn_type": "vaults", "host": "vault", "port": None, "schema": None, "login": None, "password": "t"}
    return SimpleNamespace(**{**usual, **fields}, extra=None if extra is None else json.dumps(extra))


def test_an_address_and_a_way_to_sign_in_are_enough() -> None:
    assert read(ENOUGH) == VaultSettings(url=URL, login=TokenLogin(Credential(path="/run/token")))


def test_every_setting_is_read(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("ca.pem", "cert.pem", "key.pem")]
    for file in files:
        file.touch()
    ca, cert, key = map(str, files)
    params = {
        "address": "HTTP://Vault:8200/Prefix/",
        "auth_type": "kubernetes",
        "kubernetes_role": "jobs",
        "auth_mount_point": "/k8s/",
        "namespace": "team/a",
        "auth_namespace": "team/",
        "mount_point": "secret",
        "kv_engine_version": "2",
        "timeout": "2.5",
        "ca_cert": ca,
        "client_cert": cert,
        "client_key": key,
        "proxies": '{"https": "http://proxy:3128"}',
        "trust_env": "true",
        "cache.ttl": "0",
        "give_back_after_kill": "no",
    }

    assert read(params) == VaultSettings(
        url="http://vault:8200/Prefix",
        login=CredentialLogin(
            KUBERNETES, "jobs", Credential(path="/var/run/secrets/kubernetes.io/serviceaccount/token"), "k8s"
        ),
        namespace="team/a",
        mount_point="secret",
        kv_version=2,
        timeout=2.5,
        verify=ca,
        cert=(cert, key),
        proxies=(("https", "http://proxy:3128"),),
        trust_env=True,
        cache_ttl=0,
        gives_back_after_kill=False,
        auth_namespace="team",
    )


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({}, None),
        ({"namespace": "team/a"}, "team/a"),
        ({"namespace": "team/a", "auth_namespace": "team"}, "team"),
        ({"namespace": "team/a", "auth_namespace": "root"}, None),
        ({"namespace": "team/a", "auth_namespace": "/"}, "team/a"),
        ({"auth_namespace": "team"}, "team"),
    ],
    ids=str,
)
def test_where_to_sign_in(params: dict[str, str], expected: str | None) -> None:
    assert read({**ENOUGH, **params}).login_namespace == expected


def test_where_to_sign_in_is_said_beside_a_connection() -> None:
    said = connection({"client_kwargs": {"namespace": "team/a"}})
    settings = read({"conn_id": "v", "auth_namespace": "team"}, connection=said)

    assert (settings.namespace, settings.login_namespace) == ("team/a", "team")


def test_equal_definitions_give_equal_settings_with_equal_hashes() -> None:
    params = {"url": URL, "auth_type": "approle", "role_id": "r", "secret_id": "s"}

    assert read(params) == read(dict(params))
    assert hash(read(params)) == hash(read(dict(params)))
    assert read(params) != read({**params, "secret_id": "other"})


@pytest.mark.parametrize("path", ["/run/vault/token", ""])
def test_a_token_of_the_environment_counts_where_nothing_else_is_said(path: str) -> None:
    login = read({"url": URL, "token_path": path}, environ={"VAULT_TOKEN": "of-the-environment"}).login

    assert login == TokenLogin(Credential(path=path) if path else Credential("of-the-environment"))


def test_a_token_of_the_environment_counts_while_a_child_must_lack_it() -> None:
    environ = {"VAULT_TOKEN": "of-the-environment"}
    provider = VaultConfigProvider(environ=environ)

    with lacking(environ, ["VAULT_TOKEN"]):
        provider.configure({"url": URL})

    provider.close()


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        pytest.param({}, set(), id="no-address"),
        pytest.param({"url": URL}, {"VAULT_TOKEN"}, id="nothing-said"),
        pytest.param({"address": URL}, {"VAULT_TOKEN"}, id="the-other-name-of-the-address"),
        pytest.param({"url": URL, "auth_type": "token"}, {"VAULT_TOKEN"}, id="token"),
        pytest.param({"url": URL, "auth_type": " token "}, {"VAULT_TOKEN"}, id="token-between-spaces"),
        pytest.param({"url": URL, "token": " "}, {"VAULT_TOKEN"}, id="blank-token"),
        pytest.param({"conn_id": "vault"}, {"VAULT_TOKEN"}, id="what-a-connection-says"),
        pytest.param({"url": URL, "token_path": "/run/token"}, set(), id="file"),
        pytest.param({"url": URL, "auth_type": "approle"}, set(), id="another-login"),
    ],
)
def test_children_do_not_inherit_the_token_that_the_provider_can_read(params: dict[str, str], expected: object) -> None:
    assert set(VaultConfigProvider().environment_names(params)) == expected


def test_a_token_of_the_environment_is_not_for_other_logins() -> None:
    assert problems({"url": URL, "auth_type": "github"}, environ={"VAULT_TOKEN": "t"}) == (
        "auth_type github needs token_path or token. Add one.",
    )


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        pytest.param({}, ["The address is missing", "auth_type token needs token_path or token"], id="nothing"),
        pytest.param(
            {**ENOUGH, "tokn": "x"},
            ["'tokn' is not a parameter of the Vault provider, did you mean 'token'? Correct or remove it."],
            id="unknown",
        ),
        pytest.param({**ENOUGH, "token": "x"}, ["token and token_path are both given"], id="two tokens"),
        pytest.param({**ENOUGH, "address": URL}, ["address and url are both given"], id="two addresses"),
        pytest.param(
            {"url": URL, "auth_type": "aprole"}, ["no auth_type 'aprole', did you mean 'approle'?"], id="auth type"
        ),
        pytest.param({"url": URL, "auth_type": "approle"}, ["approle needs role_id"], id="approle"),
        pytest.param({"url": URL, "auth_type": "kubernetes"}, ["kubernetes needs kubernetes_role"], id="kubernetes"),
        pytest.param(
            {"url": URL, "auth_type": "jwt"}, ["jwt needs jwt_role", "jwt needs jwt_token_path or jwt_token"], id="jwt"
        ),
        pytest.param(
            {"url": URL, "auth_type": "ldap"},
            ["ldap needs username", "ldap needs password_path or password"],
            id="ldap",
        ),
        pytest.param({"url": URL, "auth_type": "gcp"}, ["gcp needs role_id"], id="gcp"),
        pytest.param(
            {"url": URL, "auth_type": "azure", "secret_id": "s"},
            ["secret_id needs azure_tenant_id", "secret_id needs key_id", "azure needs azure_role", "azure_resource"],
            id="azure",
        ),
        pytest.param({"url": URL, "auth_type": "aws_iam", "key_id": "k"}, ["one of key_id and secret_id"], id="aws"),
        pytest.param(
            {"url": URL, "auth_type": "aws_iam", "secret_id_path": "/run/s"},
            ["secret_id_path is for auth_type approle"],
            id="a file that is not read",
        ),
        pytest.param(
            {**ENOUGH, "kv_engine_version": "3"}, ["kv_engine_version is not a whole number from 1 to 2"], id="kv"
        ),
        pytest.param(
            {**ENOUGH, "timeout": "10s"}, ["timeout is not a number of seconds above 0 and at most 3600"], id="unit"
        ),
        pytest.param({**ENOUGH, "timeout": "nan"}, ["timeout is not a number"], id="not a number"),
        pytest.param({**ENOUGH, "timeout": "-1"}, ["timeout is not a number"], id="negative"),
        pytest.param({**ENOUGH, "timeout": "inf"}, ["timeout is not a number"], id="without end"),
        pytest.param({**ENOUGH, "cache.ttl": "-1"}, ["cache.ttl is not a whole number from 0"], id="cache"),
        pytest.param({**ENOUGH, "cache.ttl": "9" * 5000}, ["cache.ttl is not a whole number from 0"], id="long number"),
        pytest.param({**ENOUGH, "trust_env": "perhaps"}, ["trust_env is neither true nor false"], id="flag"),
        pytest.param({**ENOUGH, "mount_point": "a/../b"}, ["mount_point contains a name that is empty"], id="dots"),
        pytest.param({**ENOUGH, "namespace": "a\r\nX: y"}, ["namespace contains a name"], id="namespace"),
        pytest.param({**ENOUGH, "ca_cert": "/no/ca"}, ["ca_cert: there is nothing at /no/ca"], id="ca"),
        pytest.param({**ENOUGH, "ca_cert": f"/{'a' * 300}"}, ["ca_cert: there is nothing at /aaa"], id="long path"),
        pytest.param({**ENOUGH, "verify": "/no/ca"}, ["verify: there is nothing at /no/ca"], id="verify"),
        pytest.param({**ENOUGH, "verify": "false", "ca_cert": "/"}, ["verify is false, but ca_cert"], id="no verify"),
        pytest.param({**ENOUGH, "client_key": "/"}, ["client_key is given without a certificate"], id="key"),
        pytest.param({**ENOUGH, "proxies": "http://p"}, ["proxies is not a JSON object"], id="proxies"),
        pytest.param({**ENOUGH, "proxies": {"http": 1}}, ["proxies has a value that is not a string"], id="proxy"),
        pytest.param({**ENOUGH, "namespace": ["a"]}, ["namespace is not a string"], id="list"),
        pytest.param({"conn_id": "no"}, ["There is no connection 'no'"], id="connection"),
        pytest.param(
            {"tokn": "x", "timeout": "0", "trust_env": "?"},
            ["'tokn'", "The address is missing", "auth_type token", "timeout", "trust_env"],
            id="all at once",
        ),
    ],
)
def test_problems_are_named_all_at_once(params: dict[str, Any], expected: list[str]) -> None:
    found = problems(params)

    assert len(found) == len(expected)
    assert all(any(part in problem for problem in found) for part in expected)


def test_a_key_in_the_place_of_its_path_is_not_shown() -> None:
    key = "-----BEGIN PRIVATE KEY-----\nc4nary\n-----END PRIVATE KEY-----"

    found = problems({**ENOUGH, "client_cert": "/", "client_key": key})

    assert found == ("client_key: there is nothing at [hidden, because it does not begin with /]. Correct the path.",)


@pytest.mark.parametrize(
    "url",
    [
        pytest.param("vault.example.com", id="no scheme"),
        pytest.param("ftp://vault", id="another scheme"),
        pytest.param("file:///etc/passwd", id="file"),
        pytest.param("https://", id="no host"),
        pytest.param("https://user:c4nary@vault", id="user and password"),
        pytest.param("https://c4nary@vault", id="user"),
        pytest.param("https://vault?x=c4nary", id="query"),
        pytest.param("https://vault#c4nary", id="fragment"),
        pytest.param("https://vault:99999", id="port"),
        pytest.param("https://vault:0", id="port 0"),
        pytest.param("https://vault:", id="no port"),
        pytest.param("https://vault/../c4nary", id="dots"),
        pytest.param("https://vault\\@evil", id="backslash"),
        pytest.param("https://vault\r\nHost: evil", id="line"),
        pytest.param("https://vault%2eexample", id="quoted"),
        pytest.param("https://v\u0430ult", id="another script"),
    ],
)
def test_an_address_that_is_none_is_refused_and_not_quoted(url: str) -> None:
    (problem,) = problems({**ENOUGH, "url": url})

    assert problem.startswith("The address cannot be used. Write http:// or https://")
    assert "c4nary" not in problem


@pytest.mark.parametrize("url", ["https://[::1]:8200", "http://127.0.0.1:8200/a/b", "https://vault_1.my-cluster.local"])
def test_an_address_is_kept(url: str) -> None:
    assert read({**ENOUGH, "url": f" {url}/ "}).url == url


ADDRESSES = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["http://", "https://", "HTTPS://"]),
    st.sampled_from(["vault", "vault_1.my-cluster.local", "127.0.0.1", "[::1]"]),
    st.sampled_from(["", ":8200"]),
    st.sampled_from(["", "/", "/a/b"]),
)
ODD = st.sampled_from([*"@?#\\%", ""]) | st.text(max_size=3)


@given(ADDRESSES, ODD, st.integers(0, 40))
def test_no_address_gets_through_that_has_anything_but_scheme_host_port_and_path(
    address: str, odd: str, place: int
) -> None:
    text = address[:place] + odd + address[place:]
    try:
        url = read({**ENOUGH, "url": text}).url
    except ProviderDefinitionError:
        return
    assert url.startswith(("http://", "https://"))
    assert not set("@?#\\%") & set(url)
    assert url.lower() == text.strip().removesuffix("/").lower()


@pytest.mark.parametrize(
    ("params", "environ", "expected"),
    [
        pytest.param({}, {}, True, id="nothing is said"),
        pytest.param({"verify": "True"}, {}, True, id="yes"),
        pytest.param({"verify": "false"}, {"VAULT_CACERT": "ca"}, False, id="no"),
        pytest.param({"verify": False}, {}, False, id="no, as a bool"),
        pytest.param({"verify": "ca"}, {}, "ca", id="a path, as hvac has it"),
        pytest.param({"ca_cert": "ca", "verify": "true"}, {"VAULT_CACERT": "other"}, "ca", id="ca_cert"),
        pytest.param({}, {"VAULT_CACERT": "ca", "REQUESTS_CA_BUNDLE": "other"}, "ca", id="VAULT_CACERT"),
        pytest.param({}, {"REQUESTS_CA_BUNDLE": "ca"}, "ca", id="REQUESTS_CA_BUNDLE"),
        pytest.param({"verify": "yes"}, {"REQUESTS_CA_BUNDLE": "ca"}, "ca", id="REQUESTS_CA_BUNDLE for yes"),
        pytest.param({}, {"VAULT_SKIP_VERIFY": "1"}, True, id="the environment cannot turn it off"),
    ],
)
def test_what_certificates_are_verified_with(
    params: dict[str, Any], environ: dict[str, str], expected: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ca").touch()
    Path("other").touch()

    assert read({**ENOUGH, **params}, environ=environ).verify == expected


def test_a_client_certificate_comes_from_the_environment_where_none_is_said(tmp_path: Path) -> None:
    for name in ("cert", "key", "own"):
        (tmp_path / name).touch()
    environ = {"VAULT_CLIENT_CERT": str(tmp_path / "cert"), "VAULT_CLIENT_KEY": str(tmp_path / "key")}
    own = str(tmp_path / "own")

    assert read(ENOUGH, environ=environ).cert == (str(tmp_path / "cert"), str(tmp_path / "key"))
    assert read({**ENOUGH, "client_cert": own}, environ=environ).cert == (own, own)


def test_a_parameter_stands_in_for_what_the_connection_says() -> None:
    said = connection({"client_kwargs": {"namespace": "a", "timeout": 5}}, schema="secret")

    settings = read({"conn_id": "v", "timeout": "7", "mount_point": "kv"}, connection=said)

    assert (settings.url, settings.namespace, settings.timeout, settings.mount_point) == ("https://vault", "a", 7, "kv")


def test_an_empty_parameter_takes_away_what_the_connection_says() -> None:
    settings = read({"conn_id": "v", "mount_point": "", "namespace": ""}, connection=connection(schema="secret"))

    assert settings.mount_point is None
    assert settings.namespace is None


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        pytest.param({"token_path": "/run/t"}, TokenLogin(Credential(path="/run/t")), id="a file for a token"),
        pytest.param(
            {"auth_type": "userpass", "username": "u"},
            CredentialLogin(USERPASS, "u", Credential("t")),
            id="auth type",
        ),
        pytest.param(
            {"auth_type": "approle", "role_id": "r", "secret_id_path": "/run/s"},
            CredentialLogin(APPROLE, "r", Credential(path="/run/s")),
            id="a file for a secret ID",
        ),
    ],
)
def test_a_parameter_stands_in_for_the_login_of_the_connection(params: dict[str, str], expected: object) -> None:
    assert read({"conn_id": "v", **params}, connection=connection()).login == expected


def test_the_address_is_the_connection_s() -> None:
    assert problems({"conn_id": "v", "url": URL}, connection=connection()) == (
        "conn_id and url are both given. The connection has the address: leave url out.",
    )


def test_problems_of_a_connection_and_of_parameters_are_named_together() -> None:
    found = problems({"conn_id": "v", "timeout": "x", "a": "b"}, connection=connection(host="", conn_type="ftp"))

    assert [problem.split(".")[0] for problem in found] == [
        "'a' is not a parameter of the Vault provider",
        "Connection 'v': its type is ftp",
        "Connection 'v': it has no host",
        "timeout is not a number of seconds above 0 and at most 3600",
    ]


def test_the_connection_is_asked_for_by_its_id() -> None:
    asked: list[str] = []

    def connections(conn_id: str) -> object:
        asked.append(conn_id)
        return connection()

    read_settings({"conn_id": "vault_default"}, connections=connections, environ={})

    assert asked == ["vault_default"]


def test_the_list_of_parameters_is_in_order() -> None:
    assert list(PARAMS) == sorted(set(PARAMS))
