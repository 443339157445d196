from __future__ import annotations

import contextlib
import json
import logging
import time
from pathlib import Path

import pytest

from airflow_config_providers.exceptions import AccessDeniedError, ProviderLookupError, ProviderUnavailableError
from airflow_config_providers.providers.vault.session import Sessions, seconds_since_boot
from tests.providers.vault.opened import ManualSessions, counted, opened, parameters, provider_of, seen, side_by_side

LOGIN = "POST auth/approle/login 200"
LOOKUP = "GET auth/token/lookup-self"
RENEW = "POST auth/token/renew-self 200"
REVOKE = "POST auth/token/revoke-self 204"
READ = "GET kv2/data/a"


@pytest.fixture
def manual() -> ManualSessions:
    return ManualSessions()


@pytest.fixture
def secret(vault) -> str:
    """A path."""
    vault.put("a", {"k": "v"})
    return f"{vault.kv2}/a"


def test_nothing_is_asked_before_the_first_read(vault, secret: str) -> None:
    with opened(vault):
        assert seen(vault) == []


def test_a_login_serves_until_the_end(vault, secret: str) -> None:
    with opened(vault, **{"cache.ttl": "0"}) as provider:
        for _ in range(3):
            assert provider.get(secret, {"k"}).data == {"k": "v"}
        assert counted(vault) == {LOGIN: 1, f"{READ} 200": 3}


def test_threads_share_the_first_login(vault, secret: str) -> None:
    with opened(vault, **{"cache.ttl": "0"}) as provider:
        vault.delay(20)
        side_by_side(64, lambda: provider.get(secret, {"k"}))
        assert counted(vault)[LOGIN] == 1


def test_equal_providers_share_a_login_and_the_last_one_gives_it_back(vault, secret: str) -> None:
    sessions, params = Sessions(), parameters(vault)
    first, second = provider_of(params, sessions), provider_of(params, sessions)
    vault.reset()
    first.get(secret, {"k"})
    second.get(secret, {"k"})
    assert counted(vault)[LOGIN] == 1
    first.close()
    assert counted(vault)[REVOKE] == 0
    second.get(secret, {"k"})
    second.close()
    assert counted(vault)[REVOKE] == 1
    assert vault.live_tokens() == frozenset()


def test_providers_that_differ_share_no_login(vault, secret: str) -> None:
    sessions, role = Sessions(), vault.approle("*")
    with (
        opened(vault, sessions=sessions, role=role) as first,
        opened(vault, sessions=sessions, role=role, timeout="3") as second,
    ):
        first.get(secret, {"k"})
        second.get(secret, {"k"})
        assert counted(vault)[LOGIN] == 2


def test_a_provider_that_was_closed_is_opened_anew(vault, secret: str) -> None:
    sessions, role = Sessions(), vault.approle("*")
    for _ in range(2):
        with opened(vault, sessions=sessions, role=role) as provider:
            assert provider.get(secret, {"k"}).data == {"k": "v"}
        assert counted(vault) == {LOGIN: 1, f"{READ} 200": 1, REVOKE: 1}


def test_a_login_is_renewed_before_it_ends(vault, secret: str, manual: ManualSessions) -> None:
    with opened(vault, sessions=manual, role=vault.approle("*", ttl=7, token_max_ttl=100)) as provider:
        provider.get(secret, {"k"})
        for _ in range(2):
            manual.pass_time(5, vault)
        assert provider.get(secret, {"k"}).data == {"k": "v"}
        assert counted(vault) == {LOGIN: 1, RENEW: 2, f"{READ} 200": 2}


def test_a_login_that_can_be_renewed_no_more_is_replaced_at_the_next_read(
    vault, secret: str, manual: ManualSessions
) -> None:
    with opened(vault, sessions=manual, role=vault.approle("*", ttl=4, token_max_ttl=5)) as provider:
        provider.get(secret, {"k"})
        manual.pass_time(3, vault)
        manual.pass_time(3, vault)
        assert counted(vault)[LOGIN] == 1
        assert provider.get(secret, {"k"}).data == {"k": "v"}
        assert counted(vault)[LOGIN] == 2


def test_a_login_that_cannot_be_renewed_is_replaced_when_it_ends(vault, secret: str, manual: ManualSessions) -> None:
    role = vault.approle("*", ttl=4, token_type="batch") if vault.kind == "real" else vault.approle("*", ttl=4)
    with opened(vault, sessions=manual, role=role) as provider:
        vault.fail(9, 400, path="auth/token/renew-self")
        provider.get(secret, {"k"})
        manual.pass_time(2, vault)
        manual.pass_time(2, vault)
        assert provider.get(secret, {"k"}).data == {"k": "v"}
        assert counted(vault)[LOGIN] == 2


def test_a_renewal_that_vault_cannot_do_now_is_tried_again(vault, secret: str, manual: ManualSessions) -> None:
    with opened(vault, sessions=manual, role=vault.approle("*", ttl=60)) as provider:
        provider.get(secret, {"k"})
        vault.fail(1, 503, path="auth/token/renew-self")
        manual.pass_time(43, vault)
        manual.pass_time(5, vault)
        assert counted(vault) == {LOGIN: 1, f"{READ} 200": 1, "POST auth/token/renew-self 503": 1, RENEW: 1}


@pytest.mark.parametrize("status", [400, 403], ids=["what was signed in with is away", "a policy is away"])
def test_a_refused_renewal_of_a_login_is_tried_again(
    vault, secret: str, manual: ManualSessions, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    caplog.set_level(logging.INFO)
    with opened(vault, sessions=manual, role=vault.approle("*", ttl=60)) as provider:
        provider.get(secret, {"k"})
        vault.fail(2, status, path="auth/token/renew-self")
        manual.pass_time(43, vault)
        manual.pass_time(5, vault)
        manual.pass_time(5, vault)
        assert counted(vault)[RENEW] == 1
    said = [(record.levelname, record.getMessage()) for record in caplog.records if "renewed" in record.getMessage()]
    assert [level for level, _ in said] == ["WARNING", "INFO"]
    assert f"the login is not renewed (status {status}). It ends in 17 seconds" in said[0][1]


def test_a_login_that_has_ended_is_not_renewed_again(vault, secret: str, manual: ManualSessions) -> None:
    with opened(vault, sessions=manual, role=vault.approle("*", ttl=60)) as provider:
        provider.get(secret, {"k"})
        errors = ["2 errors occurred:\n\t* permission denied\n\t* invalid token\n\n"]
        vault.fail(9, 403, path="auth/token/renew-self", body=json.dumps({"errors": errors}))
        manual.pass_time(43, vault)
        manual.pass_time(5, vault)
        assert counted(vault)["POST auth/token/renew-self 403"] == 1


def test_after_a_revocation_there_is_one_login(vault, secret: str) -> None:
    with opened(vault, **{"cache.ttl": "0"}) as provider:
        provider.get(secret, {"k"})
        revoke_all(vault)
        vault.reset()
        assert provider.get(secret, {"k"}).data == {"k": "v"}
        assert seen(vault) == [f"{READ} 403", f"{LOOKUP} 403", LOGIN, f"{READ} 200"]


def revoke_all(vault) -> None:
    for accessor in vault.live_tokens():
        vault.admin.write_data("auth/token/revoke-accessor", data={"accessor": accessor})


def test_what_the_policy_denies_costs_no_login(vault, secret: str) -> None:
    with opened(vault, role=vault.approle(f"{vault.kv2}/data/b")) as provider:
        for _ in range(2):
            with pytest.raises(AccessDeniedError, match="refused to read"):
                provider.get(secret, {"k"})
        assert counted(vault) == {
            LOGIN: 1,
            f"{READ} 403": 2,
            "GET sys/internal/ui/mounts/kv2/a 200": 1,
            f"{LOOKUP} 200": 2,
        }


def test_where_a_token_may_not_look_itself_up_a_denial_costs_no_login(vault, secret: str) -> None:
    role = vault.approle(f"{vault.kv2}/data/b", {"auth/token/lookup-self": ["deny"]})
    with opened(vault, role=role) as provider:
        for _ in range(5):
            with pytest.raises(AccessDeniedError, match="Let a policy"):
                provider.get(secret, {"k"})
        assert counted(vault)[LOGIN] == 1


def test_a_given_token_is_neither_looked_up_nor_renewed_nor_given_back(vault, secret: str) -> None:
    token = vault.token("*")
    with opened(vault, token=token) as provider:
        provider.get(secret, {"k"})
    assert seen(vault) == [f"{READ} 200"]
    assert len(vault.live_tokens()) == 1


def test_a_given_token_that_vault_does_not_know_is_told_and_not_asked_with_again(vault, secret: str) -> None:
    with opened(vault, token="hvs.nonsense") as provider:
        for _ in range(3):
            with pytest.raises(AccessDeniedError, match=r"does not know the token.* It is in param\.token_path or "):
                provider.get(secret, {"k"})
        assert counted(vault)[f"{LOOKUP} 403"] == 1
        assert counted(vault)[f"{READ} 403"] == 1


def test_a_given_token_that_was_revoked_is_told(vault, secret: str) -> None:
    with opened(vault, token=vault.token("*"), **{"cache.ttl": "0"}) as provider:
        provider.get(secret, {"k"})
        revoke_all(vault)
        with pytest.raises(AccessDeniedError, match="does not know the token"):
            provider.get(secret, {"k"})


@pytest.mark.parametrize("may_look", [True, False], ids=["may look itself up", "may not"])
def test_a_given_token_whose_policy_says_nothing_of_the_path_is_told_so(vault, secret: str, may_look: bool) -> None:
    paths = [f"{vault.kv2}/data/b"] if may_look else [f"{vault.kv2}/data/b", {"auth/token/lookup-self": ["deny"]}]
    with (
        opened(vault, token=vault.token(*paths)) as provider,
        pytest.raises(AccessDeniedError, match="Let a policy of the login read"),
    ):
        provider.get(secret, {"k"})


def test_a_token_file_that_changes_is_read_although_its_token_was_refused(vault, secret: str, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("hvs.nonsense")
    params = {"url": vault.address, "auth_type": "token", "token_path": str(file), "give_back_after_kill": "false"}
    with contextlib.closing(provider_of(params)) as provider:
        with pytest.raises(AccessDeniedError, match="does not know the token"):
            provider.get(secret, {"k"})
        replace(file, vault.token("*"))
        assert provider.get(secret, {"k"}).data == {"k": "v"}


def test_a_token_file_is_read_again_when_it_changes(vault, secret: str, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(vault.token("*"))
    params = {"url": vault.address, "auth_type": "token", "token_path": str(file), "cache.ttl": "0"}
    with contextlib.closing(provider_of({**params, "give_back_after_kill": "false"})) as provider:
        provider.get(secret, {"k"})
        replace(file, vault.token("*"))
        provider.get(secret, {"k"})
        assert len({request.token for request in vault.requests()}) == 2


def replace(file: Path, text: str) -> None:
    new = file.with_suffix(".new")
    new.write_text(text + "\n")
    new.replace(file)


def test_a_token_file_that_is_gone_for_a_moment_does_not_matter(vault, secret: str, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(vault.token("*"))
    params = {"url": vault.address, "auth_type": "token", "token_path": str(file), "cache.ttl": "0"}
    with contextlib.closing(provider_of({**params, "give_back_after_kill": "false"})) as provider:
        provider.get(secret, {"k"})
        file.unlink()
        assert provider.get(secret, {"k"}).data == {"k": "v"}


@pytest.mark.parametrize("method", ["jwt", "kubernetes"])
def test_a_new_login_is_made_with_the_jwt_that_stands_in_the_file_then(
    vault, secret: str, tmp_path: Path, manual: ManualSessions, method: str
) -> None:
    role = getattr(vault, method)("*", ttl=4, token_max_ttl=4)
    file = tmp_path / "jwt"
    file.write_text(role.jwt())
    path = {"jwt": "jwt_token_path", "kubernetes": "kubernetes_jwt_path"}[method]
    params = {"auth_type": method, f"{method}_role": role.role, path: str(file), "auth_mount_point": role.mount}
    params |= {"url": vault.address, "give_back_after_kill": "false", "cache.ttl": "0"}
    with contextlib.closing(provider_of(params, manual)) as provider:
        provider.get(secret, {"k"})
        replace(file, "no.jwt.any-more")
        assert provider.get(secret, {"k"}).data == {"k": "v"}
        manual.pass_time(5, vault)
        with pytest.raises(AccessDeniedError, match=f"refused the login by {method}"):
            provider.get(secret, {"k"})
        replace(file, role.jwt())
        assert provider.get(secret, {"k"}).data == {"k": "v"}


def test_a_refused_login_is_denied_and_says_how_it_was_tried(vault, secret: str) -> None:
    role = vault.approle("*")
    params = {**parameters(vault, role=role), "secret_id": "wrong"}
    with (
        contextlib.closing(provider_of(params)) as provider,
        pytest.raises(AccessDeniedError, match=r"refused the login by approle \(status 40[03]\)"),
    ):
        provider.get(secret, {"k"})


def wrong_password(vault) -> dict[str, str]:
    user = vault.userpass("*")
    params = {"url": vault.address, "auth_type": "userpass", "username": user.username, "password": "wrong"}
    return {**params, "give_back_after_kill": "false", "cache.ttl": "0"}


def logins(vault) -> int:
    return sum(request.is_login for request in vault.requests())


def test_a_refused_login_is_not_tried_again_until_vault_has_forgotten_it(
    vault, secret: str, manual: ManualSessions
) -> None:
    with contextlib.closing(provider_of(wrong_password(vault), manual)) as provider:
        for seconds, count in [(0, 1), (900, 1), (59, 1), (2, 2), (0, 2)]:
            manual.clock.sleep(seconds)
            with pytest.raises(AccessDeniedError, match=r"refused the login by userpass.*16 minutes"):
                provider.get(secret, {"k"})
            assert logins(vault) == count


def test_a_refused_login_is_tried_again_with_what_stands_in_the_file_then(vault, secret: str, tmp_path: Path) -> None:
    user, file = vault.userpass("*"), tmp_path / "password"
    file.write_text("wrong")
    params = {"url": vault.address, "auth_type": "userpass", "username": user.username, "password_path": str(file)}
    with contextlib.closing(provider_of({**params, "give_back_after_kill": "false"})) as provider:
        for _ in range(2):
            with pytest.raises(AccessDeniedError):
                provider.get(secret, {"k"})
        assert logins(vault) == 1
        replace(file, user.password)
        assert provider.get(secret, {"k"}).data == {"k": "v"}


def test_a_check_tries_a_login_that_was_refused(vault, secret: str) -> None:
    with contextlib.closing(provider_of(wrong_password(vault))) as provider:
        for ask in (lambda: provider.get(secret, {"k"}), provider.check, lambda: provider.get(secret, {"k"})):
            with pytest.raises(AccessDeniedError, match="refused the login"):
                ask()
        assert logins(vault) == 2


def test_a_login_at_a_mount_that_is_not_there_is_not_tried_for_each_path(vault, secret: str) -> None:
    with opened(vault, auth_mount_point="approle") as provider:
        vault.fail(9, 404, path="auth/")
        for _ in range(3):
            with pytest.raises(ProviderLookupError, match="knows no login"):
                provider.get(secret, {"k"})
        assert logins(vault) == 1


def test_a_login_that_failed_is_tried_again(vault, secret: str) -> None:
    with opened(vault) as provider:
        vault.fail(1, 503, path="auth/")
        with pytest.raises(ProviderUnavailableError, match="sealed"):
            provider.get(secret, {"k"})
        assert provider.get(secret, {"k"}).data == {"k": "v"}


def test_threads_share_a_login_that_fails(vault, secret: str, manual: ManualSessions) -> None:
    """No time passes meanwhile, so that the pause after a failure does not end while the last threads come."""
    with opened(vault, sessions=manual) as provider:
        vault.fail(999, 503, path="auth/")
        found = side_by_side(64, lambda: provider.get(secret, {"k"}))
        assert {type(error) for error in found} == {ProviderUnavailableError}
        assert len(vault.requests()) <= 3


def test_a_namespace_goes_with_every_request(vault, secret: str) -> None:
    with opened(vault, namespace="team/a", token=vault.root_token) as provider:
        with contextlib.suppress(ProviderLookupError):
            provider.get(secret, {"k"})
        assert {request.namespace for request in vault.requests()} == {"team/a"}


def test_the_login_and_its_token_are_of_another_namespace_than_the_secrets(vault, manual: ManualSessions) -> None:
    role, path = vault.approle("*", ttl=7, token_max_ttl=100), vault.creds(ttl=7)
    spaces = {"namespace": "team/a", "auth_namespace": "team"}
    with opened(vault, sessions=manual, role=role, **spaces, **{"cache.ttl": "0"}) as provider:
        provider.check()
        provider.get(path)
        manual.pass_time(5, vault)
    found = {(request.path.partition("/")[0], request.namespace) for request in vault.requests()}
    assert found == {("auth", "team"), ("sys", "team/a"), (path.partition("/")[0], "team/a")}
    assert {"auth/token/renew-self", "auth/token/revoke-self"} < {request.path for request in vault.requests()}


def test_a_login_in_the_root_has_no_namespace(vault, secret: str) -> None:
    with opened(vault, namespace="team/a", auth_namespace="root") as provider, contextlib.suppress(ProviderLookupError):
        provider.get(secret, {"k"})
    assert {request.namespace for request in vault.requests() if request.path.startswith("auth/")} == {""}
    assert {request.namespace for request in vault.requests() if request.method == "GET"} == {"team/a"}


def test_a_check_reads_no_secret(vault) -> None:
    with opened(vault) as provider:
        provider.check()
        assert seen(vault) == ["GET sys/health 200", LOGIN, f"{LOOKUP} 200"]


def test_a_check_of_a_wrong_token_is_denied(vault) -> None:
    with (
        opened(vault, token="hvs.nonsense") as provider,
        pytest.raises(AccessDeniedError, match="does not know the token"),
    ):
        provider.check()


def test_a_check_of_a_role_that_may_not_look_itself_up_is_good(vault) -> None:
    role = vault.approle({"auth/token/lookup-self": ["deny"]})
    with opened(vault, role=role) as provider:
        provider.check()


def test_a_check_of_a_sealed_vault_is_unavailable(vault) -> None:
    with opened(vault) as provider, vault.sealed(), pytest.raises(ProviderUnavailableError, match="sealed"):
        provider.check()


def test_a_closed_session_signs_in_no_more(vault, secret: str, manual: ManualSessions) -> None:
    with opened(vault, sessions=manual) as provider:
        provider.get(secret, {"k"})
    with pytest.raises(ProviderLookupError, match="closed"):
        manual.made[0].token()
    assert counted(vault)[LOGIN] == 1


def test_a_login_that_is_not_taken_back_is_told_and_raises_nothing(
    vault, secret: str, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(vault) as provider:
        provider.get(secret, {"k"})
        vault.fail(1, 500, path="auth/token/revoke-self", body='{"errors": ["canary"]}')
    assert "was not given back" in caplog.text
    assert "canary" not in caplog.text


def test_without_hvac_the_way_out_is_told(vault, secret: str) -> None:
    from airflow_config_providers.exceptions import ProviderDefinitionError
    from airflow_config_providers.providers.vault.parameters import read_settings
    from airflow_config_providers.providers.vault.session import Session

    def no_hvac(_: object) -> object:
        raise ModuleNotFoundError("hvac")

    settings = read_settings(parameters(vault), connections=lambda _: None, environ={})
    with pytest.raises(ProviderDefinitionError, match="pip install hvac"):
        Session(settings, make_client=no_hvac).token()


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="this system does not count the time of a suspension")
def test_it_counts_the_time_for_which_the_machine_was_suspended() -> None:
    before = time.clock_gettime(time.CLOCK_BOOTTIME)
    now = seconds_since_boot()
    assert before <= now <= time.clock_gettime(time.CLOCK_BOOTTIME)
