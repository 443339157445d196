"""What happens to a job if Vault is sealed while it runs."""

from __future__ import annotations

import contextlib

import pytest

from airflow_config_providers.core.lookup import FetchOptions, Lookup
from airflow_config_providers.exceptions import ProviderUnavailableError
from tests.limits import eventually
from tests.providers.vault.opened import ManualSessions, counted, opened, parameters, provider_of

CREDS = "GET database/creds/app 200"
LOGIN = "POST auth/approle/login 200"
RENEW_LEASE = "POST sys/leases/renew 200"
RENEW_LOGIN = "POST auth/token/renew-self 200"


@pytest.fixture
def manual() -> ManualSessions:
    return ManualSessions()


def test_credentials_that_were_read_before_are_given_without_a_request(vault) -> None:
    path = vault.creds()
    with opened(vault) as provider:
        before = provider.get(path)
        with vault.sealed():
            assert provider.get(path).data == before.data
        assert counted(vault)[CREDS] == 1


def test_the_login_is_used_again_afterwards(vault) -> None:
    vault.put("a", {"k": "v"})
    with opened(vault, **{"cache.ttl": "0"}) as provider:
        provider.get(f"{vault.kv2}/a")
        with vault.sealed(), pytest.raises(ProviderUnavailableError):
            provider.get(f"{vault.kv2}/a")
        assert provider.get(f"{vault.kv2}/a").data == {"k": "v"}
        assert counted(vault)[LOGIN] == 1


def test_a_lease_that_still_lives_is_renewed_afterwards(vault, manual: ManualSessions) -> None:
    path = vault.creds(ttl=10, max_ttl=100)
    with opened(vault, sessions=manual) as provider:
        before = provider.get(path)
        with vault.sealed():
            manual.pass_time(5, vault)
            manual.pass_time(2, vault)
        manual.pass_time(1, vault)
        assert counted(vault)[RENEW_LEASE] == 1
        assert provider.get(path).data == before.data


def test_a_login_that_still_lives_is_renewed_afterwards(vault, manual: ManualSessions) -> None:
    vault.put("a", {"k": "v"})
    with opened(vault, sessions=manual, role=vault.approle("*", ttl=10)) as provider:
        provider.get(f"{vault.kv2}/a")
        with vault.sealed():
            manual.pass_time(5, vault)
            manual.pass_time(2, vault)
        manual.pass_time(1, vault)
        assert counted(vault)[RENEW_LOGIN] == 1


def test_credentials_whose_lease_has_ended_meanwhile_are_replaced_afterwards(vault, manual: ManualSessions) -> None:
    path = vault.creds(ttl=2, max_ttl=100)
    with opened(vault, sessions=manual) as provider:
        before = provider.get(path)
        with vault.sealed():
            manual.pass_time(3, vault)
        assert provider.get(path).data != before.data


def test_a_lease_that_has_ended_meanwhile_is_ended_by_vault_when_it_is_unsealed(vault, manual: ManualSessions) -> None:
    path = vault.creds(ttl=2, max_ttl=100)
    with opened(vault, sessions=manual) as provider:
        provider.get(path)
        with vault.sealed():
            manual.pass_time(3, vault)
        assert eventually(lambda: not vault.live_leases())


def test_a_login_that_has_ended_meanwhile_is_replaced_afterwards(vault, manual: ManualSessions) -> None:
    vault.put("a", {"k": "v"})
    with opened(vault, sessions=manual, role=vault.approle("*", ttl=3)) as provider:
        provider.get(f"{vault.kv2}/a")
        with vault.sealed():
            manual.pass_time(4, vault)
        assert provider.get(f"{vault.kv2}/a").data == {"k": "v"}
        assert counted(vault)[LOGIN] == 2


def test_what_is_not_given_back_at_the_end_lives_until_it_ends_by_itself(
    vault, caplog: pytest.LogCaptureFixture
) -> None:
    path = vault.creds()
    with contextlib.closing(provider_of({**parameters(vault), "give_back_after_kill": "true"})) as provider:
        provider.get(path)
        with vault.sealed():
            provider.close()
    assert "was not given back and is left to the helper" in caplog.text
    assert len(vault.live_leases()) == 1
    assert len(vault.live_tokens()) == 1


def test_a_lookup_that_waits_goes_on_when_it_is_unsealed(vault) -> None:
    vault.put("a", {"k": "v"})
    place = ("vault", f"{vault.kv2}/a")
    with opened(vault) as provider, contextlib.ExitStack() as stack:
        stack.enter_context(vault.sealed())
        lookup = Lookup({"vault": provider}, FetchOptions(attempts=5), sleep=lambda _: stack.close())
        assert lookup.fetch({place: {"k"}}).data == {place: {"k": "v"}}
