"""Rows 8, 19, 37 and 50, as far as they are about the address of Vault, the way there, and what signs in."""

from __future__ import annotations

import contextlib
import copy
import json
import logging
import os
import pprint
import secrets
from types import SimpleNamespace

import pytest

pytest.importorskip("hvac")

from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.core.registry import ProviderRegistry
from airflow_config_providers.core.resolver import ConfigResolver
from airflow_config_providers.exceptions import (
    ConfigProvidersError,
    ProviderDefinitionError,
    ProviderLookupError,
    ProviderUnavailableError,
)
from airflow_config_providers.providers.vault import VaultConfigProvider
from airflow_config_providers.providers.vault.parameters import read_settings
from tests.servers.certificates import self_signed
from tests.servers.recorder import LOGGED_IN, Recorder, signed_in
from tests.servers.web import WebServer

CANARY = f"c4nary{secrets.token_hex(8)}"


def settings_of(params, *, connection=None, environ=None):
    return read_settings(params, connections=lambda conn_id: connection, environ=environ or {})


def vault_connection(extra, **fields):
    usual = {"conn_type": "vaults", "host": "vault", "port": None, "schema": None, "login": None, "password": None}
    return SimpleNamespace(**{**usual, **fields}, extra=extra if isinstance(extra, str) else json.dumps(extra))


@pytest.fixture
def recorder():
    return Recorder()


@pytest.fixture
def address(recorder):
    with WebServer(recorder) as server:
        yield server.address


@pytest.fixture
def other():
    """A server to which nobody may be redirected."""
    return Recorder()


@pytest.fixture
def other_address(other):
    with WebServer(other) as server:
        yield server.address


@pytest.fixture
def provider(address):
    made = VaultConfigProvider(lambda conn_id: None, {})
    made.configure({"url": address, "token": CANARY, "give_back_after_kill": "false"})
    yield made
    made.close()


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("secret/db?address={}", id="address"),
        pytest.param("secret/db?url={}", id="url"),
        pytest.param("secret/db?version=1&address={}", id="address-after-the-version"),
        pytest.param("secret/db?token=evil", id="token"),
        pytest.param("secret/db?namespace=evil", id="namespace"),
        pytest.param("secret/db?verify=false", id="verify"),
        pytest.param("secret/db?proxies=evil", id="proxies"),
        pytest.param("{}/v1/secret/db", id="a-whole-address"),
        pytest.param("//{host}/secret/db", id="an-address-without-scheme"),
        pytest.param("@{host}/secret/db", id="a-host-after-an-at"),
        pytest.param("\\\\{host}\\secret", id="backslashes"),
        pytest.param("secret/db#@{host}", id="fragment"),
        pytest.param("secret/db\r\nHost: {host}", id="a-header"),
        pytest.param("secret/db HTTP/1.1\r\nX-Vault-Namespace: evil\r\n\r\n", id="a-request"),
    ],
)
def test_attack_08_a_path_leads_to_no_other_server_and_changes_no_option(
    recorder, other, other_address, provider, path
):
    host = other_address.removeprefix("http://")
    with contextlib.suppress(ConfigProvidersError):
        provider.get(path.replace("{}", other_address).replace("{host}", host), {"password"})

    assert other.requests() == []
    for request in recorder.requests():
        assert request.headers["host"] != host
        assert request.headers.get("x-vault-token") in {CANARY, None}
        assert "x-vault-namespace" not in request.headers


def test_attack_08_a_layer_cannot_say_where_vault_is(address, other, other_address):
    definition = {
        "config.providers": "vault",
        "config.providers.vault.class": "vault",
        "config.providers.vault.param.url": address,
        "config.providers.vault.param.token": CANARY,
        "config.providers.vault.param.give_back_after_kill": "false",
    }
    layer = ConfigLayer(
        ConfigSource.DAG_CONFIG,
        "conf",
        {"config.providers.vault.param.url": other_address, "spark.x": "${vault:secret/db:password}"},
    )
    registry = ProviderRegistry({"vault": lambda: VaultConfigProvider(lambda conn_id: None, {})})

    with registry.open(definition) as providers, pytest.raises(ConfigProvidersError):
        ConfigResolver(providers).resolve([layer])

    assert other.requests() == []


LOGINS = [
    pytest.param({"auth_type": "approle", "role_id": "r", "secret_id": CANARY}, id="approle"),
    pytest.param({"auth_type": "ldap", "username": "u", "password": CANARY}, id="ldap"),
    pytest.param({"auth_type": "github", "token": CANARY}, id="github"),
    pytest.param({"auth_type": "jwt", "jwt_role": "r", "jwt_token": CANARY}, id="jwt"),
    pytest.param({"auth_type": "aws_iam", "key_id": "AKIA", "secret_id": CANARY}, id="aws_iam"),
]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("params", LOGINS)
def test_attack_08_a_login_does_not_follow_a_redirect(other, other_address, status, params):
    redirecting = Recorder(LOGGED_IN, status=status, headers={"Location": f"{other_address}/v1/auth/x/login"})
    with WebServer(redirecting) as server:
        settings = settings_of({"url": server.address, **params})
        with pytest.raises(ProviderLookupError, match="redirect") as caught:
            signed_in(settings)

    assert len(redirecting.requests()) == 1
    assert other.requests() == []
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize("status", [301, 307])
def test_attack_08_a_token_is_not_sent_on_by_a_redirect(other, other_address, status):
    redirecting = Recorder(status=status, headers={"Location": f"{other_address}/v1/secret/db"})
    with WebServer(redirecting) as server:
        provider = VaultConfigProvider(lambda conn_id: None, {})
        provider.configure({"url": server.address, "token": CANARY, "give_back_after_kill": "false"})
        with pytest.raises(ProviderLookupError):
            provider.get("secret/db", {"password"})
        provider.close()

    assert any(request.headers.get("x-vault-token") == CANARY for request in redirecting.requests())
    assert other.requests() == []


SECRETS = {
    "token": {},
    "secret_id": {"auth_type": "approle", "role_id": "r"},
    "password": {"auth_type": "userpass", "username": "u"},
    "jwt_token": {"auth_type": "jwt", "jwt_role": "r"},
    "gcp_keyfile_dict": {"auth_type": "gcp", "role_id": "r"},
    "assume_role_kwargs": {"auth_type": "aws_iam"},
    "header_value": {"auth_type": "aws_iam"},
    "proxies": {"token": "t"},
}


def secret_value(name):
    objects = {"gcp_keyfile_dict": "private_key", "assume_role_kwargs": "ExternalId", "proxies": "https"}
    return json.dumps({objects[name]: CANARY}) if name in objects else CANARY


@pytest.mark.parametrize("name", SECRETS)
def test_attack_19_settings_and_logins_do_not_show_a_secret(name):
    settings = settings_of({"url": "https://vault", **SECRETS[name], name: secret_value(name)})

    for shown in (settings, settings.login, copy.deepcopy(settings)):
        assert CANARY not in f"{shown!r}{shown}{shown!s:>1}{pprint.pformat(shown)}{[shown]}"
    assert CANARY not in repr(settings_of({"url": "https://vault"}, environ={"VAULT_TOKEN": CANARY}))


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"timeout": "no"}, id="another-parameter"),
        pytest.param({"auth_type": "no"}, id="the-auth-type"),
        pytest.param({"url": f"https://user:{CANARY}@vault"}, id="the-address"),
        pytest.param({"conn_id": "v"}, id="two-addresses"),
    ],
)
def test_attack_19_an_error_of_a_definition_does_not_show_a_secret(name, wrong):
    with pytest.raises(ProviderDefinitionError) as caught:
        settings_of({"url": "https://vault", **SECRETS[name], name: secret_value(name), **wrong})

    assert CANARY not in f"{caught.value!r}{caught.value}{caught.value.args}"
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("value", [[CANARY], {"x": [CANARY]}, 1.5], ids=["list", "object", "number"])
def test_attack_19_a_secret_of_the_wrong_type_is_not_shown(name, value):
    try:
        shown = repr(settings_of({"url": "https://vault", **SECRETS[name], name: value}))
    except ProviderDefinitionError as error:
        shown = f"{error!r}{error}"

    assert CANARY not in shown


@pytest.mark.parametrize(
    "connection",
    [
        pytest.param(vault_connection(f"{{{CANARY}"), id="extra-that-is-no-json"),
        pytest.param(vault_connection({"auth_type": "jwt", "jwt_token": CANARY}), id="extra"),
        pytest.param(vault_connection({"client_kwargs": f"[{CANARY}"}, password=CANARY), id="client_kwargs"),
        pytest.param(vault_connection({"client_kwargs": {"session": CANARY}}, password=CANARY), id="session"),
        pytest.param(vault_connection({}, host=f"u:{CANARY}@vault", password=CANARY), id="host"),
        pytest.param(vault_connection({}, host=f"https://u:{CANARY}@vault"), id="host-with-scheme"),
        pytest.param(vault_connection({"auth_type": "approle"}, password=CANARY), id="no-role"),
    ],
)
def test_attack_19_an_error_of_a_connection_does_not_show_a_secret(connection):
    with pytest.raises(ProviderDefinitionError) as caught:
        settings_of({"conn_id": "v"}, connection=connection)

    assert CANARY not in f"{caught.value!r}{caught.value}"
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


@pytest.mark.parametrize("params", LOGINS)
def test_attack_19_a_login_logs_no_secret(address, caplog, params):
    caplog.set_level(logging.DEBUG)
    settings = settings_of({"url": address, **params})

    token = signed_in(settings)

    assert CANARY not in caplog.text
    assert token.token not in caplog.text + repr(token)


@pytest.mark.parametrize(
    "text", ["0123", "1e5", "1E5", "yes", "NO", "null", "0x10", "1_000", "1.50", "-0", "Infinity", "9" * 40]
)
@pytest.mark.parametrize("through", ["a parameter", "the password", "the extra"])
def test_attack_37_a_secret_that_looks_like_something_else_stays_a_text(recorder, address, text, through):
    port = int(address.rpartition(":")[2])
    if through == "a parameter":
        settings = settings_of({"url": address, "auth_type": "jwt", "jwt_role": text, "jwt_token": text})
    else:
        extra = {"auth_type": "jwt", "jwt_role": text, "jwt_token": text}
        where = {"conn_type": "vault", "host": "127.0.0.1", "port": port}
        if through == "the password":
            extra = {"auth_type": "approle"}
            where |= {"login": text, "password": text}
        settings = settings_of({"conn_id": "v"}, connection=vault_connection(extra, **where))

    signed_in(settings)

    assert list(recorder.requests()[0].body.values()) == [text, text]


@pytest.mark.parametrize("number", ["1e5", "1.50", "123456789012345678901234567890", "0.1"])
def test_attack_37_a_secret_without_quotes_is_what_is_written(recorder, address, number):
    port = int(address.rpartition(":")[2])
    extra = f'{{"auth_type": "jwt", "jwt_role": "r", "jwt_token": {number}}}'
    made = vault_connection(extra, conn_type="vault", host="127.0.0.1", port=port)
    settings = settings_of({"conn_id": "v"}, connection=made)

    signed_in(settings)

    assert recorder.requests()[0].body["jwt"] == number


@pytest.fixture
def https(recorder, tmp_path):
    """An address that has a certificate for 127.0.0.1, and the file that makes it trusted."""
    certificate = self_signed(tmp_path)
    with WebServer(recorder, tls=certificate.server_context()) as server:
        yield server.address, str(certificate.certificate)


def sign_in(params, *, environ=None):
    settings = settings_of({"auth_type": "approle", "role_id": "r", "secret_id": CANARY, **params}, environ=environ)
    return signed_in(settings)


def test_attack_50_a_certificate_that_nobody_vouches_for_is_refused(recorder, https):
    import requests

    address, _ = https
    with pytest.raises(requests.exceptions.SSLError):
        sign_in({"url": address})

    assert recorder.requests() == []


@pytest.mark.parametrize("where", ["ca_cert", "verify", "VAULT_CACERT", "REQUESTS_CA_BUNDLE"])
def test_attack_50_a_ca_file_makes_it_trusted(recorder, https, where):
    address, ca_file = https
    params, environ = ({}, {where: ca_file}) if where.isupper() else ({where: ca_file}, {})

    sign_in({"url": address, **params}, environ=environ)

    assert len(recorder.requests()) == 1


def test_attack_50_another_ca_does_not_make_it_trusted(recorder, https, tmp_path):
    import requests

    address, _ = https
    (tmp_path / "other").mkdir()
    with pytest.raises(requests.exceptions.SSLError):
        sign_in({"url": address, "ca_cert": str(self_signed(tmp_path / "other").certificate)})

    assert recorder.requests() == []


def test_attack_50_a_certificate_for_another_name_is_refused(recorder, https):
    import requests

    address, ca_file = https
    with pytest.raises(requests.exceptions.SSLError):
        sign_in({"url": address.replace("127.0.0.1", "localhost"), "ca_cert": ca_file})

    assert recorder.requests() == []


def test_attack_50_the_error_for_a_certificate_says_what_to_do_and_shows_nothing(recorder, https):
    address, _ = https
    provider = VaultConfigProvider(lambda conn_id: None, {})
    provider.configure({"url": address, "token": CANARY, "give_back_after_kill": "false"})
    with pytest.raises(ProviderLookupError, match="ca_cert") as caught:
        provider.get("secret/db", {"password"})
    provider.close()

    assert not isinstance(caught.value, ProviderUnavailableError)
    assert CANARY not in str(caught.value)
    assert recorder.requests() == []


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
def test_attack_50_verification_is_off_only_where_it_is_said_and_that_is_logged_once(recorder, https, caplog):
    address, _ = https
    for _ in range(3):
        sign_in({"url": address, "verify": "false"})

    assert len(recorder.requests()) == 3
    told = [record for record in caplog.records if "is not verified" in record.getMessage()]
    assert [record.levelno for record in told] == [logging.WARNING]
    assert CANARY not in caplog.text


@pytest.mark.parametrize(
    "environ",
    [
        pytest.param({"VAULT_SKIP_VERIFY": "true"}, id="VAULT_SKIP_VERIFY"),
        pytest.param({"PYTHONHTTPSVERIFY": "0"}, id="PYTHONHTTPSVERIFY"),
        pytest.param({"CURL_CA_BUNDLE": ""}, id="an-empty-bundle"),
        pytest.param({"REQUESTS_CA_BUNDLE": ""}, id="another-empty-bundle"),
    ],
)
@pytest.mark.parametrize("trust_env", ["false", "true"])
def test_attack_50_the_environment_does_not_turn_verification_off(recorder, https, monkeypatch, environ, trust_env):
    import requests

    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(requests.exceptions.SSLError):
        sign_in({"url": https[0], "trust_env": trust_env}, environ=environ)

    assert recorder.requests() == []


@pytest.fixture
def captured_environment(monkeypatch, other_address, tmp_path):
    """Proxies and .netrc in the environment, as somebody else may have set them."""
    for name in list(os.environ):
        if name.lower() == "no_proxy":
            monkeypatch.delenv(name)
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, other_address)
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login evil password evil\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))


@pytest.mark.usefixtures("captured_environment")
def test_attack_50_the_proxies_of_the_environment_are_left_alone(recorder, other, address):
    sign_in({"url": address})

    assert other.requests() == []
    assert "authorization" not in recorder.requests()[0].headers


@pytest.mark.usefixtures("captured_environment")
def test_attack_50_the_proxies_of_the_environment_count_where_it_is_said(recorder, other, address):
    sign_in({"url": address, "trust_env": "true"})

    assert recorder.requests() == []
    assert len(other.requests()) == 1


def test_attack_50_a_proxy_that_is_named_counts(recorder, other, address, other_address):
    sign_in({"url": address, "proxies": json.dumps({"http": other_address})})

    assert recorder.requests() == []
    assert len(other.requests()) == 1
