from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from airflow_config_providers.exceptions import ConfigProvidersError, ProviderLookupError, ProviderUnavailableError
from airflow_config_providers.providers.vault.logins.credentials import JWT, TokenLogin
from airflow_config_providers.providers.vault.logins.login import (
    LONGEST,
    Credential,
    CredentialLogin,
    Login,
    VaultToken,
    token_of,
)
from airflow_config_providers.providers.vault.parameters import read_settings
from tests.servers.recorder import Recorder, signed_in
from tests.servers.web import WebServer

hvac = pytest.importorskip("hvac")


def login(address: str, **params: str) -> VaultToken:
    """Sign in as parameters say."""
    settings = read_settings({"url": address, **params}, connections=lambda conn_id: None, environ={})
    return signed_in(settings)


def is_good(vault: Any, token: VaultToken) -> bool:
    looked_up = vault.admin.auth.token.lookup(token.token)
    return bool(looked_up["data"]["renewable"]) == token.is_renewable


def test_an_approle_gets_a_token(vault: Any) -> None:
    role = vault.approle(ttl=600)

    token = login(vault.address, auth_type="approle", role_id=role.role_id, secret_id=role.secret_id)

    assert (token.ttl, token.is_renewable, token.is_ours) == (600.0, True, True)
    assert is_good(vault, token)


def test_a_user_gets_a_token(vault: Any, tmp_path: Path) -> None:
    user = vault.userpass(ttl=600)
    (tmp_path / "password").write_text(f"{user.password}\n")

    token = login(vault.address, auth_type="userpass", username=user.username, password_path=str(tmp_path / "password"))

    assert is_good(vault, token)


@pytest.mark.parametrize("method", ["jwt", "kubernetes"])
def test_a_jwt_gets_a_token(vault: Any, tmp_path: Path, method: str) -> None:
    role = getattr(vault, method)(ttl=600)
    (tmp_path / "jwt").write_text(f"{role.jwt()}\n")
    path = {"jwt": "jwt_token_path", "kubernetes": "kubernetes_jwt_path"}[method]
    params = {f"{method}_role": role.role, path: str(tmp_path / "jwt"), "auth_mount_point": role.mount}

    token = login(vault.address, auth_type=method, **params)

    assert token.ttl == 600
    assert is_good(vault, token)


def test_a_jwt_that_rotated_gets_a_token_where_the_old_one_does_not(vault: Any, tmp_path: Path) -> None:
    role = vault.jwt()
    file = tmp_path / "jwt"
    params = {"auth_type": "jwt", "jwt_role": role.role, "jwt_token_path": str(file), "auth_mount_point": role.mount}
    settings = read_settings({"url": vault.address, **params}, connections=lambda conn_id: None, environ={})
    file.write_text(role.jwt(aud="somebody-else"))
    with pytest.raises(hvac.exceptions.VaultError):
        signed_in(settings)

    file.write_text(role.jwt())

    assert is_good(vault, signed_in(settings))


def test_a_login_that_vault_refuses_raises_what_hvac_raises(vault: Any) -> None:
    with pytest.raises(hvac.exceptions.InvalidRequest):
        login(vault.address, auth_type="approle", role_id="no", secret_id="no")


@pytest.mark.parametrize(
    ("params", "names"),
    [
        pytest.param(
            {"auth_type": "kubernetes", "kubernetes_role": "r"}, ("kubernetes_jwt_path", "jwt"), id="kubernetes"
        ),
        pytest.param({"auth_type": "jwt", "jwt_role": "r"}, ("jwt_token_path", "jwt"), id="jwt"),
        pytest.param({"auth_type": "approle", "role_id": "r"}, ("secret_id_path", "secret_id"), id="approle"),
        pytest.param({"auth_type": "github"}, ("token_path", "token"), id="github"),
        pytest.param({"auth_type": "ldap", "username": "u"}, ("password_path", "password"), id="ldap"),
    ],
)
def test_a_file_is_read_again_at_every_login(
    recorder: Recorder, address: str, tmp_path: Path, params: dict[str, str], names: tuple[str, str]
) -> None:
    param, sent = names
    file = tmp_path / "file"
    settings = read_settings({"url": address, **params, param: str(file)}, connections=lambda conn_id: None, environ={})

    for content in ("first", "second"):
        file.write_text(f"{content}\n")
        signed_in(settings)

    assert [request.body[sent] for request in recorder.requests()] == ["first", "second"]


def test_a_token_file_is_read_again_and_shows_that_it_changed(tmp_path: Path) -> None:
    file = tmp_path / "token"
    token_login = TokenLogin(Credential(path=str(file)))
    file.write_text("first\n")
    before = token_login.version()
    first = token_login(None)
    assert token_login.version() == before

    (tmp_path / "new").write_text("second\n")
    (tmp_path / "new").rename(file)

    assert token_login.version() not in {before, None}
    assert (first.token, token_login(None).token) == ("first", "second")


def test_a_token_of_the_same_length_in_a_file_that_keeps_its_time_is_a_change(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("first")
    times = file.stat().st_atime_ns, file.stat().st_mtime_ns
    token_login = TokenLogin(Credential(path=str(file)))
    before = token_login.version()

    time.sleep(0.02)  # longer than the clock of the file system takes to go on
    file.write_text("other")
    os.utime(file, ns=times)

    assert token_login.version() not in {before, None}


def test_a_token_file_that_is_away_for_a_moment_is_no_change(tmp_path: Path) -> None:
    assert TokenLogin(Credential(path=str(tmp_path / "token"))).version() is None


def test_a_link_that_kubernetes_points_elsewhere_is_a_change(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "token").write_text("same length")
    (tmp_path / "data").symlink_to("one")
    token_login = TokenLogin(Credential(path=str(tmp_path / "data" / "token")))
    before = token_login.version()

    (tmp_path / "new").symlink_to("two")
    (tmp_path / "new").rename(tmp_path / "data")

    assert token_login.version() != before


@pytest.mark.parametrize(
    "one",
    [
        pytest.param(TokenLogin(Credential("t")), id="a token that is given"),
        pytest.param(CredentialLogin(JWT, "r", Credential(path="/run/jwt")), id="the file of a login"),
    ],
)
def test_nothing_but_a_token_file_has_a_version(one: Login) -> None:
    assert one.version() is None


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        pytest.param(None, ProviderUnavailableError, "There is no file", id="missing"),
        pytest.param(b"", ProviderUnavailableError, "is empty", id="empty"),
        pytest.param(b"\n", ProviderUnavailableError, "is empty", id="a line end"),
        pytest.param(b"\xff\xfe", ProviderLookupError, "is not UTF-8", id="binary"),
        pytest.param(b"c4nary" * 20_000, ProviderLookupError, "larger than 64 KiB", id="large"),
        pytest.param(b"  ", ProviderLookupError, "is not a Vault token: it is empty", id="blanks"),
        pytest.param(b"c4nary\nc4nary", ProviderLookupError, "is not a Vault token", id="two lines"),
        pytest.param("c4näry".encode(), ProviderLookupError, "is not a Vault token", id="letters"),
    ],
)
def test_a_token_file_that_holds_none(
    tmp_path: Path, content: bytes | None, error: type[ConfigProvidersError], message: str
) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(error, match=message) as caught:
        TokenLogin(Credential(path=str(file)))(None)

    assert type(caught.value) is error
    assert str(file) in str(caught.value)
    assert caught.value.__context__ is None
    assert "c4n" not in str(caught.value)


@pytest.mark.parametrize("path", ["/run/to\0ken", "/run/to\ud800ken"], ids=["NUL", "surrogate"])
def test_a_path_that_is_none(path: str) -> None:
    credential = Credential(path=path)

    assert credential.version() is None
    with pytest.raises(ProviderLookupError, match="has a name that no file can have"):
        credential.read()


@pytest.mark.parametrize("token", ["hvs.c4nary", "c4nary" * 100, "c4n\0ary"], ids=["token", "too long", "NUL"])
def test_a_token_in_the_place_of_its_path_is_not_shown(token: str) -> None:
    with pytest.raises(ConfigProvidersError, match=r"\[hidden, because it does not begin with /\]") as caught:
        Credential(path=token).read()

    assert "c4n" not in str(caught.value)


def test_a_directory_is_no_token_file(tmp_path: Path) -> None:
    with pytest.raises(ProviderLookupError, match=r"cannot be read \(Is a directory\)"):
        TokenLogin(Credential(path=str(tmp_path)))(None)


def test_a_pipe_without_a_writer_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "token")

    with pytest.raises(ProviderLookupError, match=r"cannot be read \(It is a pipe without a writer"):
        TokenLogin(Credential(path=str(tmp_path / "token")))(None)


def test_a_token_that_no_header_takes_is_refused_without_it() -> None:
    with pytest.raises(ProviderLookupError) as caught:
        TokenLogin(Credential("c4nary\r\nX-Evil: 1"))(None)

    assert "c4nary" not in str(caught.value)


@pytest.mark.parametrize(
    ("auth", "expected"),
    [
        pytest.param(
            {"client_token": "t", "lease_duration": 60, "renewable": True},
            VaultToken("t", 60.0, is_renewable=True),
            id="ttl",
        ),
        pytest.param({"client_token": "t", "lease_duration": 0, "renewable": False}, VaultToken("t"), id="without end"),
        pytest.param({"client_token": "t"}, VaultToken("t"), id="nothing more"),
        pytest.param({"client_token": "t", "lease_duration": "60"}, VaultToken("t"), id="a text as duration"),
        pytest.param({"client_token": "t", "lease_duration": True}, VaultToken("t"), id="true as duration"),
        pytest.param(
            {"client_token": "t", "lease_duration": 10**400}, VaultToken("t", ttl=LONGEST), id="long duration"
        ),
    ],
)
def test_the_token_of_an_answer(auth: Mapping[str, object], expected: VaultToken) -> None:
    assert token_of({"auth": auth}) == expected


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param({}, id="empty"),
        pytest.param({"auth": None, "data": {"x": "c4nary"}}, id="no login"),
        pytest.param({"auth": {"client_token": "", "mfa_requirement": {"id": "c4nary"}}}, id="second factor"),
        pytest.param("c4nary", id="text"),
    ],
)
def test_an_answer_without_a_token_is_an_error_that_does_not_quote_it(answer: object) -> None:
    with pytest.raises(ProviderLookupError, match="login has no token") as caught:
        token_of(answer)

    assert "c4nary" not in str(caught.value)


def test_a_page_in_place_of_an_answer_is_an_error(tmp_path: Path) -> None:
    with (
        WebServer(Recorder(status=204)) as server,
        pytest.raises(ProviderLookupError, match="login has no token"),
    ):
        login(server.address, auth_type="approle", role_id="r")
