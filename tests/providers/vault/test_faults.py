from __future__ import annotations

import contextlib
import json
import re
import socket
import ssl

import pytest
import requests

from airflow_config_providers.exceptions import (
    AccessDeniedError,
    ConfigProvidersError,
    ProviderLookupError,
    ProviderUnavailableError,
)
from airflow_config_providers.providers.vault import faults
from airflow_config_providers.providers.vault.faults import VaultAnswer
from tests.providers.vault.opened import counted, opened, parameters, provider_of
from tests.servers.web import Response, WebServer

ID = "0b3f1a52-9c1e-4d5f-8a10-2f4b7c6d8e90"


def error_of_a_read(vault, status: int | str, **fault: object) -> ConfigProvidersError:
    """Fail the read of a path that is there, and give the error."""
    vault.put("a", {"k": "v"})
    with opened(vault, token=vault.root_token) as provider:
        vault.fail(9, status, **fault)
        with pytest.raises(ConfigProvidersError) as caught:
            provider.get(f"{vault.kv2}/a", {"k"})
    assert caught.value.__cause__ is caught.value.__context__ is None
    return caught.value


@pytest.mark.parametrize(
    ("status", "word"),
    [
        (412, "caught up"),
        (429, "standby"),
        (472, "disaster recovery"),
        (473, "performance standby"),
        (500, "internal error"),
        (501, "not initialised"),
        (502, "internal error"),
        (503, "sealed"),
        (504, "internal error"),
    ],
)
def test_a_vault_that_cannot_answer_now_is_unavailable(vault, status: int, word: str) -> None:
    error = error_of_a_read(vault, status)
    assert type(error) is ProviderUnavailableError
    assert word in str(error)
    assert f"status {status}" in str(error)


@pytest.mark.parametrize(
    ("status", "way_out"),
    [
        pytest.param(501, "Initialise it.", id="not initialised"),
        pytest.param(503, "Unseal it, or try again later.", id="sealed"),
        pytest.param(500, "Try again later.", id="anything else"),
    ],
)
def test_the_error_of_a_vault_that_cannot_answer_now_ends_with_the_way_out(vault, status: int, way_out: str) -> None:
    assert f"(status {status}). {way_out}" in str(error_of_a_read(vault, status))


def test_a_mount_that_is_not_ready_yet_is_unavailable(vault) -> None:
    text = "Upgrading from non-versioned to versioned data. This backend will be unavailable for a brief period."
    error = error_of_a_read(vault, 400, body=json.dumps({"errors": [text]}))
    assert type(error) is ProviderUnavailableError
    assert "still preparing the mount (status 400)" in str(error)
    assert "non-versioned" not in str(error)


@pytest.mark.parametrize("what", ["reset", "cut"])
def test_a_dropped_connection_is_unavailable(vault, what: str) -> None:
    assert type(error_of_a_read(vault, what)) is ProviderUnavailableError


def test_a_vault_that_hangs_is_unavailable(vault) -> None:
    with opened(vault, token=vault.root_token, timeout="0.2") as provider:
        vault.fail(1, "hang")
        with pytest.raises(ProviderUnavailableError, match="in time"):
            provider.get(f"{vault.kv2}/a", {"k"})


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        pytest.param("127.0.0.1", "cannot be reached: its port refuses connections", id="port"),
        pytest.param("vault.invalid", "cannot be reached: DNS has no address for its name", id="name"),
    ],
)
def test_a_vault_that_is_not_there_is_unavailable_and_the_error_says_why(host: str, reason: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        params = {"url": f"http://{host}:{taken.getsockname()[1]}", "token": "hvs.t"}
        with (
            contextlib.closing(provider_of(params)) as provider,
            pytest.raises(ProviderUnavailableError, match=reason),
        ):
            provider.get("secret/a", {"k"})


@pytest.mark.parametrize("body", ["", "<html>", "[1]", "null", '{"a":', '{"a": NaN}', "[" * 100_000, "\x00"])
def test_garbage_is_unavailable(vault, body: str) -> None:
    error = error_of_a_read(vault, 200, body=body)
    assert type(error) is ProviderUnavailableError
    assert "not JSON" in str(error)


@pytest.mark.parametrize("body", ["{}", '{"status": "maintenance"}', '{"data": null}', '{"data": 5}', '{"data": [1]}'])
def test_an_answer_without_a_secret_is_unavailable(vault, body: str) -> None:
    error = error_of_a_read(vault, 200, body=body)
    assert type(error) is ProviderUnavailableError
    assert "without a secret" in str(error)


def test_an_answer_of_vault_itself_without_data_is_a_missing_secret(vault) -> None:
    body = json.dumps({"request_id": ID, "data": None})
    vault.put("a", {"k": "v"})
    with opened(vault, token=vault.root_token) as provider:
        vault.fail(9, 200, body=body, path=vault.kv2)
        assert not provider.get(f"{vault.kv2}/a", {"k"}).data


PAGES = {"page": "<html>blocked</html>", "JSON": '{"message": "Forbidden"}', "list": "[]"}
"""What something in front of Vault refuses with."""


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("body", PAGES.values(), ids=PAGES)
def test_a_refusal_of_something_in_front_of_vault_is_unavailable(vault, status: int, body: str) -> None:
    error = error_of_a_read(vault, status, body=body)
    assert type(error) is ProviderUnavailableError
    assert f"status {status}, but without a secret: perhaps something in front of it answers" in str(error)


@pytest.mark.parametrize("login", ["own", "given"])
def test_a_refusal_of_something_in_front_of_vault_is_soon_forgotten(vault, login: str) -> None:
    vault.put("a", {"k": "v"})
    with opened(vault, token=vault.root_token if login == "given" else "") as provider:
        for path in (vault.kv2, "secret", "sys/internal", "auth/token"):
            vault.fail(99, 403, body=PAGES["page"], path=path)
        with pytest.raises(ProviderUnavailableError):
            provider.get(f"{vault.kv2}/a", {"k"})
        vault.reset()
        assert provider.get(f"{vault.kv2}/a", {"k"}).data == {"k": "v"}


def test_a_lookup_that_something_in_front_of_vault_refuses_does_not_say_that_a_token_has_ended(vault) -> None:
    with opened(vault, token=vault.token(f"{vault.kv2}/data/b")) as provider:
        vault.fail(9, 403, body=PAGES["page"], path="auth/token/lookup-self")
        with pytest.raises(AccessDeniedError, match="Let a policy of the login read"):
            provider.get(f"{vault.kv2}/a", {"k"})
        with pytest.raises(ProviderUnavailableError, match=r"something in front of it refused \(status 403\)"):
            provider.check()


NAMED = "proxies in the definition or, with trust_env, HTTPS_PROXY and HTTP_PROXY of this process"


@pytest.mark.parametrize("login", ["own", "given"])
def test_a_proxy_that_wants_a_login_is_named(vault, login: str) -> None:
    with WebServer(lambda _: Response(407, b"<html>")) as proxy:
        params = {"proxies": json.dumps({"http": proxy.address}), "token": "hvs.t" if login == "given" else ""}
        with (
            opened(vault, **params) as provider,
            pytest.raises(ProviderLookupError, match=rf"its proxy wants a login \(status 407\)\. Check .*{NAMED}"),
        ):
            provider.get(f"{vault.kv2}/a", {"k"})


@pytest.mark.parametrize("url", ["http://u:c4nary@[::1", "u:c4nary@host:notaport", "ftp2://u:c4nary@host:99"])
@pytest.mark.parametrize("place", ["definition", "environment"])
def test_a_proxy_that_cannot_be_used_is_named(vault, url: str, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", url)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    where = {"proxies": json.dumps({"http": url})} if place == "definition" else {"trust_env": "true"}
    with (
        opened(vault, token="hvs.t", **where) as provider,
        pytest.raises(ProviderLookupError, match=rf"its proxy cannot be used\. Check {NAMED}") as caught,
    ):
        provider.get("secret/a", {"k"})
    assert "c4nary" not in repr(caught.value)


def test_a_proxy_that_is_not_there_is_named(vault) -> None:
    with (
        opened(vault, token="hvs.t", proxies='{"http": "http://127.0.0.1:1"}') as provider,
        pytest.raises(ProviderUnavailableError, match=rf"cannot be reached through its proxy\. Check {NAMED}"),
    ):
        provider.get(f"{vault.kv2}/a", {"k"})


def test_a_redirect_is_not_followed(vault) -> None:
    from tests.servers.recorder import Recorder

    recorder = Recorder()
    with WebServer(recorder) as elsewhere:
        error = error_of_a_read(vault, "redirect", body=elsewhere.address)
    assert type(error) is ProviderLookupError
    assert "Name the active node" in str(error)
    assert recorder.requests() == []


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_tried_again(vault, status: int) -> None:
    error = error_of_a_read(vault, status)
    assert type(error) is ProviderLookupError
    assert f"redirect (status {status})" in str(error)


@pytest.mark.parametrize("what", [307, "redirect"])
def test_a_redirect_of_one_path_blocks_no_other(vault, what: int | str) -> None:
    for name in ("a", "b"):
        vault.put(name, {"k": name})
    with opened(vault, token=vault.root_token) as provider:
        vault.fail(9, what, path=f"{vault.kv2}/data/a", body="http://127.0.0.1:1")
        with pytest.raises(ProviderLookupError, match="redirect"):
            provider.get(f"{vault.kv2}/a", {"k"})
        assert provider.get(f"{vault.kv2}/b", {"k"}).data == {"k": "b"}
        assert counted(vault) == {"GET kv2/data/a 307": 1, "GET kv2/data/b 200": 1}


def test_too_many_requests_for_one_mount_delay_no_other(vault) -> None:
    vault.put_v1("a", {"k": "v"})
    with opened(vault, token=vault.root_token) as provider:
        vault.fail(9, 429, path=f"{vault.kv2}/", headers={"Retry-After": "3600"})
        for name in ("a", "b", "c"):
            with pytest.raises(ProviderUnavailableError, match="too many requests"):
                provider.get(f"{vault.kv2}/{name}", {"k"})
        assert provider.get(f"{vault.kv1}/a", {"k"}).data == {"k": "v"}
        assert counted(vault)["GET kv2/data/a 429"] == 1
        assert counted(vault)["GET kv2/data/b 429"] == 0


@pytest.mark.parametrize(
    ("status", "header", "seconds"),
    [(429, "7", 7), (503, "120", 120), (429, "", 1), (429, "Wed, 21 Oct 2026 07:28:00 GMT", 1), (500, "7", None)],
)
def test_how_long_vault_wants_to_be_left_alone_is_in_the_error(vault, status: int, header: str, seconds) -> None:
    error = error_of_a_read(vault, status, headers={"Retry-After": header} if header else {})
    assert isinstance(error, ProviderUnavailableError)
    assert error.retry_after == seconds


def test_how_long_vault_wants_no_login_is_in_the_error(vault) -> None:
    with opened(vault) as provider:
        vault.fail(9, 429, path="auth/", headers={"Retry-After": "7"})
        for _ in range(3):
            with pytest.raises(ProviderUnavailableError, match="too many requests") as caught:
                provider.get(f"{vault.kv2}/a", {"k"})
            assert caught.value.retry_after == 7
        assert len(vault.requests()) == 1


@pytest.mark.parametrize("status", [402, 409, 418, 422])
def test_another_status_is_not_tried_again(vault, status: int) -> None:
    assert type(error_of_a_read(vault, status)) is ProviderLookupError


def test_a_refusal_tells_what_a_policy_must_allow(vault) -> None:
    with (
        opened(vault, role=vault.approle(f"{vault.kv2}/data/b")) as provider,
        pytest.raises(AccessDeniedError, match=rf"Let a policy of the login read '{vault.kv2}/data/a'"),
    ):
        provider.get(f"{vault.kv2}/a", {"k"})


def test_an_engine_that_refuses_the_path_is_told(vault) -> None:
    path = vault.creds().replace("app", "unknown")
    with opened(vault) as provider, pytest.raises(ProviderLookupError, match=r"status 400.*Correct the path") as caught:
        provider.get(path)
    assert type(caught.value) is ProviderLookupError


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ({"request_id": ID}, f"status 403, request {ID}"),
        ({"request_id": "hunter2"}, "status 403"),
        ({"request_id": 1}, "status 403"),
        ({}, "status 403"),
    ],
)
def test_the_id_of_a_request_is_told_where_it_is_one(body: dict[str, object], shown: str) -> None:
    assert VaultAnswer(403, body).shown == shown


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, AccessDeniedError),
        (403, AccessDeniedError),
        (404, ProviderLookupError),
        (429, ProviderUnavailableError),
        (472, ProviderUnavailableError),
        (500, ProviderUnavailableError),
        (503, ProviderUnavailableError),
    ],
)
def test_a_login_that_fails(vault, status: int, kind: type[Exception]) -> None:
    with opened(vault, auth_mount_point="approle") as provider:
        vault.fail(9, status, path="auth/", body='{"errors": ["canary"]}')
        with pytest.raises(ProviderLookupError) as caught:
            provider.get(f"{vault.kv2}/a", {"k"})
    assert type(caught.value) is kind
    assert "canary" not in str(caught.value)
    if status in {400, 403, 404}:
        assert f"login by approle at 'approle' (status {status})" in str(caught.value)


def test_a_login_that_is_answered_with_a_redirect_is_not_tried_again(vault) -> None:
    with opened(vault) as provider:
        vault.fail(9, "redirect", path="auth/", body="http://127.0.0.1:1")
        for _ in range(2):
            with pytest.raises(ProviderLookupError, match="redirect") as caught:
                provider.get(f"{vault.kv2}/a", {"k"})
            assert type(caught.value) is ProviderLookupError
        assert len(vault.requests()) == 1


@pytest.mark.parametrize("what", ["reset", "cut"])
def test_a_login_that_gets_no_answer_is_unavailable(vault, what: str) -> None:
    with opened(vault) as provider:
        vault.fail(9, what, path="auth/", body="http://127.0.0.1:1")
        with pytest.raises(ProviderUnavailableError):
            provider.get(f"{vault.kv2}/a", {"k"})


def test_a_certificate_that_nobody_vouches_for_is_not_tried_again(vault) -> None:
    params = {**parameters(vault), "url": vault.https.address}
    with (
        contextlib.closing(provider_of(params)) as provider,
        pytest.raises(ProviderLookupError, match=r"not trusted.*ca_cert") as caught,
    ):
        provider.get(f"{vault.kv2}/a", {"k"})
    assert type(caught.value) is ProviderLookupError


def test_a_certificate_that_its_ca_vouches_for_is_trusted(vault) -> None:
    vault.put("a", {"k": "v"})
    params = {**parameters(vault), "url": vault.https.address, "ca_cert": str(vault.https.ca_file)}
    with contextlib.closing(provider_of(params)) as provider:
        assert provider.get(f"{vault.kv2}/a", {"k"}).data == {"k": "v"}


def test_no_keys_of_a_connection_to_vault_are_written(vault, tmp_path, monkeypatch) -> None:
    vault.put("a", {"k": "v"})
    monkeypatch.setenv("SSLKEYLOGFILE", str(tmp_path / "keys"))
    params = {**parameters(vault), "url": vault.https.address, "ca_cert": str(vault.https.ca_file)}
    with contextlib.closing(provider_of(params)) as provider:
        assert provider.get(f"{vault.kv2}/a", {"k"}).data == {"k": "v"}
    lines = [line for path in tmp_path.glob("keys") for line in path.read_text().splitlines()]
    assert [line for line in lines if not line.startswith("#")] == []


def test_no_keys_are_written_of_a_context_that_requests_made_when_it_was_imported(vault, tmp_path, monkeypatch) -> None:
    """As versions 2.32.0 to 2.32.4 of requests do, for the usual CAs."""
    from urllib3.util.ssl_ import create_urllib3_context

    from airflow_config_providers.providers.vault import bounded

    def passed_on(self, request, verify, cert=None):
        host = {"scheme": "https", "host": "127.0.0.1", "port": int(vault.https.address.rpartition(":")[2])}
        return host, {"ssl_context": context, "cert_reqs": "CERT_REQUIRED"}

    def verified(self, conn, url, verify, cert):
        conn.cert_reqs = "CERT_REQUIRED"

    vault.put("a", {"k": "v"})
    monkeypatch.setenv("SSLKEYLOGFILE", str(tmp_path / "keys"))
    context = create_urllib3_context()
    context.load_verify_locations(vault.https.ca_file)
    monkeypatch.setattr(bounded.BoundedAdapter, "build_connection_pool_key_attributes", passed_on)
    monkeypatch.setattr(bounded.BoundedAdapter, "cert_verify", verified)
    monkeypatch.setattr(bounded, "DEFAULT_CA_BUNDLE_PATH", str(vault.https.ca_file))

    with contextlib.closing(provider_of({**parameters(vault), "url": vault.https.address})) as provider:
        assert provider.get(f"{vault.kv2}/a", {"k"}).data == {"k": "v"}
    assert [line for line in (tmp_path / "keys").read_text().splitlines() if not line.startswith("#")] == []


def test_https_of_a_vault_that_speaks_http_is_not_tried_again(vault) -> None:
    params = {**parameters(vault), "url": vault.address.replace("http:", "https:")}
    with (
        contextlib.closing(provider_of(params)) as provider,
        pytest.raises(ProviderLookupError, match="http or https") as caught,
    ):
        provider.get(f"{vault.kv2}/a", {"k"})
    assert type(caught.value) is ProviderLookupError


def test_a_ca_file_that_is_gone_is_told(vault, tmp_path) -> None:
    ca = tmp_path / "ca.pem"
    ca.write_text("")
    params = {**parameters(vault), "url": vault.https.address, "ca_cert": str(ca)}
    with contextlib.closing(provider_of(params)) as provider:
        ca.unlink()
        with pytest.raises(ProviderLookupError, match="a certificate or key file"):
            provider.get(f"{vault.kv2}/a", {"k"})


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (requests.exceptions.ConnectTimeout("canary"), ProviderUnavailableError),
        (requests.exceptions.ReadTimeout("canary"), ProviderUnavailableError),
        (requests.exceptions.ProxyError("canary"), ProviderUnavailableError),
        (requests.exceptions.ConnectionError("canary"), ProviderUnavailableError),
        (requests.exceptions.ChunkedEncodingError("canary"), ProviderUnavailableError),
        (requests.exceptions.SSLError(ssl.SSLEOFError("canary")), ProviderUnavailableError),
        (requests.exceptions.SSLError(ssl.SSLCertVerificationError("canary")), ProviderLookupError),
        (requests.exceptions.SSLError("canary"), ProviderLookupError),
        (requests.exceptions.InvalidHeader("canary"), ProviderLookupError),
        (FileNotFoundError("canary"), ProviderLookupError),
        (ValueError("canary"), ProviderLookupError),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_what_a_library_raises_is_told_by_its_kind_alone(error: Exception, kind: type[Exception]) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(ProviderLookupError) as caught:
        faults.translated(fail, where="Vault at http://v")
    assert type(caught.value) is kind
    assert "canary" not in repr(caught.value)
    assert re.match("(The TLS (certificate of|handshake with) )?Vault at http://v ", str(caught.value))
    assert caught.value.__cause__ is caught.value.__context__ is None


def test_an_error_of_ours_loses_its_chain() -> None:
    def fail() -> None:
        raise ProviderUnavailableError("ours") from ValueError("canary")

    with pytest.raises(ProviderUnavailableError, match="ours") as caught:
        faults.translated(fail, where="")
    assert caught.value.__cause__ is caught.value.__context__ is None


@pytest.mark.parametrize(
    ("params", "place"),
    [
        ({"auth_type": "userpass", "username": "u", "password": "p", "auth_mount_point": "nowhere"}, "auth/nowhere"),
        ({"auth_type": "approle", "role_id": "r", "auth_mount_point": "team/approle"}, "auth/team/approle"),
        ({"auth_type": "approle", "role_id": "r", "auth_mount_point": "auth/x"}, "auth/auth/x"),
        ({"auth_type": "jwt", "jwt_role": "r", "jwt_token": "t", "auth_mount_point": "oidc"}, "auth/oidc"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_login_where_nothing_is_mounted_says_so_and_what_to_set(vault, params: dict[str, str], place: str) -> None:
    with (
        contextlib.closing(provider_of({"url": vault.address, "give_back_after_kill": "false", **params})) as provider,
        pytest.raises(ProviderLookupError, match=rf"Perhaps nothing is mounted at '{place}'.*auth_mount_point"),
    ):
        provider.get(f"{vault.kv2}/a", {"k"})


@pytest.mark.parametrize(
    ("params", "place"),
    [
        ({"auth_type": "ldap", "username": "u", "password": "p"}, "auth/ldap"),
        ({"auth_type": "approle", "role_id": "r", "secret_id": "s"}, "auth/approle"),
        ({"auth_type": "github", "token": "t"}, "auth/github"),
        ({"auth_type": "aws_iam", "key_id": "k", "secret_id": "s"}, "auth/aws"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize(
    ("status", "body"), [(403, "permission denied"), (404, "no handler for route"), (400, "missing client token")]
)
def test_the_usual_place_of_a_login_is_named(vault, params: dict[str, str], place: str, status: int, body: str) -> None:
    vault.fail(9, status, path="auth/", body=json.dumps({"errors": [body]}))
    with (
        contextlib.closing(provider_of({"url": vault.address, "give_back_after_kill": "false", **params})) as provider,
        pytest.raises(
            ProviderLookupError, match=rf"Perhaps nothing is mounted at '{place}'.*without 'auth/'"
        ) as caught,
    ):
        provider.get(f"{vault.kv2}/a", {"k"})
    assert body not in str(caught.value).lower()


def test_a_wrong_password_is_no_question_of_the_mount(vault) -> None:
    user = vault.userpass("*")
    params = {"url": vault.address, "auth_type": "userpass", "username": user.username, "password": "wrong"}
    with (
        contextlib.closing(provider_of({**params, "give_back_after_kill": "false"})) as provider,
        pytest.raises(AccessDeniedError, match=r"\(status 400\)") as caught,
    ):
        provider.get(f"{vault.kv2}/a", {"k"})
    assert "mounted" not in str(caught.value)


def test_a_wrapped_secret_id_is_a_login_by_approle(vault) -> None:
    params = {"auth_type": "approle", "role_id": "r", "wrapped_secret_id": "w", "give_back_after_kill": "false"}
    vault.fail(9, 404)
    with (
        contextlib.closing(provider_of({"url": vault.address, **params})) as provider,
        pytest.raises(ProviderLookupError, match="knows no login by approle"),
    ):
        provider.get(f"{vault.kv2}/a", {"k"})
