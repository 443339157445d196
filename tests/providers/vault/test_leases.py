from __future__ import annotations

import contextlib
import json
import logging

import pytest

from airflow_config_providers.core import ConfigTransformer
from airflow_config_providers.exceptions import AccessDeniedError
from airflow_config_providers.providers.vault.leases import Lease, Leases
from airflow_config_providers.providers.vault.logins.credentials import TokenLogin
from airflow_config_providers.providers.vault.logins.login import Credential
from airflow_config_providers.providers.vault.session import HeldToken, Session, Sessions
from airflow_config_providers.providers.vault.settings import VaultSettings
from tests.limits import eventually
from tests.providers.vault.opened import ManualSessions, counted, opened, parameters, provider_of, seen, side_by_side

CREDS = "GET database/creds/app 200"
RENEW = "POST sys/leases/renew 200"
REVOKE_LEASE = "POST sys/leases/revoke 204"
REVOKE_LOGIN = "POST auth/token/revoke-self 204"


@pytest.fixture
def manual() -> ManualSessions:
    return ManualSessions()


def test_a_lease_is_the_ttl(vault) -> None:
    path = vault.creds(ttl=90)
    with opened(vault) as provider:
        assert provider.get(path).ttl == 90_000


def test_at_a_close_a_job_that_goes_on_keeps_its_lease(vault) -> None:
    with opened(vault) as provider:
        provider.get(vault.creds())
        provider.keep_leases(is_left=True)
    assert len(vault.live_leases()) == 1
    assert counted(vault)[REVOKE_LOGIN] == 0


def test_at_a_close_after_such_a_job_has_ended_its_lease_is_given_back(vault) -> None:
    with opened(vault) as provider:
        provider.get(vault.creds())
        provider.keep_leases(is_left=True)
        provider.keep_leases(is_left=False)
    assert eventually(lambda: not vault.live_leases())


def test_the_ttl_of_a_path_is_in_the_result_in_milliseconds(vault) -> None:
    path = vault.creds(ttl=90)
    vault.put("a", {"k": "v"})
    configs = {"user": f"${{vault:{path}:username}}", "k": f"${{vault:{vault.kv2}/a:k}}"}
    with opened(vault) as provider:
        assert ConfigTransformer({"vault": provider}).transform(configs).ttls == {("vault", path): 90_000}


def test_a_kv_2_has_no_ttl(vault) -> None:
    vault.put("a", {"k": "v", "ttl": "1h"})
    with opened(vault) as provider:
        assert provider.get(f"{vault.kv2}/a").ttl is None


@pytest.mark.parametrize(("data", "ttl"), [({"k": "v"}, None), ({"k": "v", "ttl": "90s"}, 90_000)], ids=["none", "ttl"])
def test_a_kv_1_has_the_ttl_that_stands_in_it(vault, data: dict[str, str], ttl: int | None) -> None:
    vault.put_v1("a", data)
    with opened(vault) as provider:
        assert provider.get(f"{vault.kv1}/a", {"k"}).ttl == ttl


def test_user_and_password_are_of_one_lease_as_long_as_it_is_good(vault, manual: ManualSessions) -> None:
    path = vault.creds(ttl=90)
    with opened(vault, sessions=manual) as provider:
        user = provider.get(path, {"username"})
        manual.clock.sleep(30)
        password = provider.get(path, {"password"})
        both = provider.get(path)
        assert {**user.data, **password.data} == both.data
        assert (user.ttl, password.ttl) == (90_000, 60_000)
        assert counted(vault)[CREDS] == 1


def test_a_lease_that_is_used_up_is_replaced(vault, manual: ManualSessions) -> None:
    path = vault.creds(ttl=90)
    with opened(vault, sessions=manual) as provider:
        before = provider.get(path)
        manual.clock.sleep(68)
        after = provider.get(path)
        assert before.data != after.data
        assert after.ttl == 90_000


def test_providers_share_no_lease(vault) -> None:
    path, sessions, role = vault.creds(), Sessions(), vault.approle("*")
    with (
        opened(vault, sessions=sessions, role=role) as first,
        opened(vault, sessions=sessions, role=role) as second,
    ):
        assert first.get(path).data != second.get(path).data


def test_a_lease_is_renewed_while_the_provider_is_open(vault, manual: ManualSessions) -> None:
    path = vault.creds(ttl=7, max_ttl=100)
    with opened(vault, sessions=manual) as provider:
        before = provider.get(path)
        for _ in range(2):
            manual.pass_time(5, vault)
        after = provider.get(path)
        assert before.data == after.data
        assert after.ttl == 7000
        assert counted(vault)[RENEW] == 2
        assert len(vault.live_leases()) == 1


def test_a_lease_that_cannot_be_renewed_any_longer_is_let_go(vault, manual: ManualSessions) -> None:
    path = vault.creds(ttl=3, max_ttl=4)
    with opened(vault, sessions=manual) as provider:
        provider.get(path)
        for _ in range(4):
            manual.pass_time(2.2, vault)
        assert counted(vault)[RENEW] <= 2
        assert eventually(lambda: not vault.live_leases())


@pytest.mark.parametrize("status", [400, 403], ids=["the database is away", "a policy is away"])
def test_a_refused_renewal_is_tried_again(
    vault, manual: ManualSessions, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    caplog.set_level(logging.INFO)
    path = vault.creds(ttl=90, max_ttl=900)
    with opened(vault, sessions=manual) as provider:
        before = provider.get(path)
        vault.fail(2, status, path="sys/leases/renew", body='{"errors": ["canary"]}')
        for seconds in (64, 7, 6):
            manual.pass_time(seconds, vault)
        assert counted(vault)[f"POST sys/leases/renew {status}"] == 2
        assert counted(vault)[RENEW] == 1
        assert provider.get(path).data == before.data
    assert [record.levelname for record in caplog.records if "renewed" in record.getMessage()] == ["WARNING", "INFO"]
    assert "canary" not in caplog.text


def test_a_refused_renewal_says_when_the_lease_ends(
    vault, manual: ManualSessions, caplog: pytest.LogCaptureFixture
) -> None:
    path = vault.creds(ttl=90)
    with opened(vault, sessions=manual) as provider:
        provider.get(path)
        vault.fail(9, 403, path="sys/leases/renew")
        manual.pass_time(70, vault)
    assert "a lease is not renewed (status 403). It ends in 20 seconds" in caplog.text


def test_a_lease_whose_renewal_is_refused_to_its_end_is_not_renewed_any_longer(vault, manual: ManualSessions) -> None:
    path = vault.creds(ttl=90)
    with opened(vault, sessions=manual) as provider:
        provider.get(path)
        vault.fail(99, 403, path="sys/leases/renew")
        for _ in range(91):
            manual.clock.sleep(1)
            manual.made[0].renewals.run_due()
        asked = counted(vault)["POST sys/leases/renew 403"]
        manual.clock.sleep(500)
        manual.made[0].renewals.run_due()
        assert counted(vault)["POST sys/leases/renew 403"] == asked
        assert 5 < asked < 15


@pytest.mark.parametrize(
    ("status", "errors"),
    [(400, ["lease not found"]), (403, ["2 errors occurred:\n\t* permission denied\n\t* invalid token\n\n"])],
    ids=["lease", "token"],
)
def test_what_has_ended_is_not_renewed_again(vault, manual: ManualSessions, status: int, errors: list[str]) -> None:
    path = vault.creds(ttl=90)
    with opened(vault, sessions=manual) as provider:
        provider.get(path)
        vault.fail(9, status, path="sys/leases/renew", body=json.dumps({"errors": errors}))
        for _ in range(3):
            manual.clock.sleep(28)
            manual.made[0].renewals.run_due()
        assert counted(vault)[f"POST sys/leases/renew {status}"] == 1


def test_the_last_provider_gives_leases_back_with_the_login(vault) -> None:
    path = vault.creds()
    with opened(vault) as provider:
        provider.get(path)
        assert len(vault.live_leases()) == 1
    assert [request for request in seen(vault) if request.startswith("POST")][1:] == [REVOKE_LOGIN]
    assert eventually(lambda: not vault.live_leases())
    assert vault.live_tokens() == frozenset()


def test_another_provider_gives_only_its_own_leases_back(vault) -> None:
    path, sessions = vault.creds(), Sessions()
    params = parameters(vault, role=vault.approle("*", {"sys/leases/revoke": ["update"]}))
    first, second = provider_of(params, sessions), provider_of(params, sessions)
    with contextlib.closing(second):
        first.get(path)
        second.get(path)
        vault.reset()
        first.close()
        assert seen(vault) == [REVOKE_LEASE]
        assert len(vault.live_leases()) == 1


def test_leases_of_a_given_token_are_given_back_and_the_token_is_not(vault) -> None:
    path, token = vault.creds(), vault.token("*", {"sys/leases/*": ["update"]})
    with opened(vault, token=token) as provider:
        provider.get(path)
    assert seen(vault)[-1] == REVOKE_LEASE
    assert eventually(lambda: not vault.live_leases())
    assert len(vault.live_tokens()) == 1


def test_a_lease_that_is_not_taken_back_is_told_and_raises_nothing(vault, caplog: pytest.LogCaptureFixture) -> None:
    path, token = vault.creds(), vault.token(f"{vault.database}/creds/app")
    with opened(vault, token=token) as provider:
        provider.get(path)
        (lease,) = vault.live_leases()
    assert "did not take a lease back (status 403" in caplog.text
    assert lease not in caplog.text


def test_where_vault_is_away_it_is_asked_once_at_the_end(vault, caplog: pytest.LogCaptureFixture) -> None:
    path, token = vault.creds(), vault.token("*")
    with opened(vault, token=token, **{"cache.ttl": "0"}) as provider:
        for _ in range(3):
            provider.get(path)
            provider._cache._kept.clear()
        vault.reset()
        vault.fail(9, "reset")
    assert len(vault.requests()) == 1
    assert "was not given back" in caplog.text


def test_after_a_new_login_there_is_a_new_lease(vault, manual: ManualSessions) -> None:
    path = vault.creds(ttl=900)
    with opened(vault, sessions=manual, role=vault.approle("*", ttl=4, token_max_ttl=4)) as provider:
        before = provider.get(path)
        manual.pass_time(4, vault)
        vault.put("a", {"k": "v"})
        provider.get(f"{vault.kv2}/a")
        assert provider.get(path).data != before.data


def test_threads_share_one_lease(vault) -> None:
    path = vault.creds()
    with opened(vault) as provider:
        vault.delay(20)
        found = side_by_side(32, lambda: dict(provider.get(path).data).popitem())
        assert len(set(found)) == 1
        assert len(vault.live_leases()) == 1


# --- a token ends, and what was leased with it --------------------------------------------------------


def test_attack_62_credentials_are_good_for_no_longer_than_the_login(vault, manual: ManualSessions) -> None:
    path, role = vault.creds(ttl=3600), vault.approle("*", ttl=6, token_max_ttl=6)
    with opened(vault, sessions=manual, role=role) as provider:
        assert provider.get(path).ttl == 6000
        manual.clock.sleep(2)
        assert provider.get(path).ttl == 4000


@pytest.mark.parametrize("cache_ttl", ["0", "86400000"], ids=["not cached", "cached for a day"])
@pytest.mark.parametrize("max_ttl", [4, 5], ids=["never renewed", "renewed for the last time"])
def test_attack_62_credentials_of_a_login_that_has_ended_are_not_given(
    vault, manual: ManualSessions, max_ttl: int, cache_ttl: str
) -> None:
    path, role = vault.creds(ttl=3600), vault.approle("*", ttl=4, token_max_ttl=max_ttl)
    with opened(vault, sessions=manual, role=role, **{"cache.ttl": cache_ttl}) as provider:
        before = provider.get(path).data
        manual.pass_time(3, vault)
        manual.pass_time(2, vault)
        after = provider.get(path)
        assert after.data["username"] != before["username"]
        assert 0 < after.ttl <= 4000
        assert counted(vault)["POST auth/approle/login 200"] == 2


def test_attack_62_a_secret_without_a_lease_outlives_the_login(vault, manual: ManualSessions) -> None:
    vault.put("a", {"k": "v"})
    role = vault.approle("*", ttl=4, token_max_ttl=4)
    with opened(vault, sessions=manual, role=role, **{"cache.ttl": "86400000"}) as provider:
        provider.get(f"{vault.kv2}/a")
        manual.pass_time(4, vault)
        assert provider.get(f"{vault.kv2}/a").data == {"k": "v"}
        assert counted(vault)["GET kv2/data/a 200"] == 1


def test_attack_62_credentials_are_good_for_no_longer_than_a_given_token(vault, manual: ManualSessions) -> None:
    path = vault.creds(ttl=3600)
    with opened(vault, sessions=manual, token=vault.token("*", ttl=4)) as provider:
        assert 0 < provider.get(path).ttl <= 4000
        provider.get(path)
        assert counted(vault)["GET auth/token/lookup-self 200"] == 1
        manual.pass_time(4.5, vault)
        for _ in range(2):
            with pytest.raises(AccessDeniedError, match="does not know the token"):
                provider.get(path)


def test_a_given_token_without_end_ends_no_lease(vault) -> None:
    path = vault.creds(ttl=90)
    with opened(vault, token=vault.root_token) as provider:
        assert provider.get(path).ttl == 90_000


def test_a_given_token_that_may_not_look_itself_up_is_taken_to_last(vault) -> None:
    path = vault.creds(ttl=90)
    token = vault.token(f"{vault.database}/creds/app", {"auth/token/lookup-self": ["deny"]})
    with opened(vault, token=token) as provider:
        assert provider.get(path).ttl == 90_000


def test_a_given_token_that_somebody_renews_goes_on(vault, manual: ManualSessions) -> None:
    path, token = vault.creds(ttl=3600), vault.token("*", ttl=4, explicit_max_ttl="60s")
    with opened(vault, sessions=manual, token=token) as provider:
        provider.get(path)
        manual.pass_time(3, vault)
        vault.admin.write_data("auth/token/renew", data={"token": token, "increment": "4s"})
        manual.pass_time(2, vault)
        assert provider.get(path).ttl > 0


def test_a_lease_costs_the_same_however_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(VaultSettings("http://127.0.0.1:1", TokenLogin(Credential("t")), gives_back_after_kill=False))
    leases, token = Leases(session), HeldToken("t", is_ours=False, since=0, ttl=None)
    asked: list[Lease] = []
    left = Lease.left
    monkeypatch.setattr(Lease, "left", lambda lease, now: asked.append(lease) or left(lease, now))

    for number in range(1000):
        leases.add({"lease_id": f"database/creds/app/{number}", "lease_duration": 3600}, token=token, since=0)

    assert len(asked) <= 5 * 1000
