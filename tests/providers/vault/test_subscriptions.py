"""What subscribers to secrets in Vault are told, and what is asked of Vault for it."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from airflow_config_providers.core.provider import ConfigData
from airflow_config_providers.exceptions import ProviderDefinitionError
from airflow_config_providers.providers.vault.paths import VaultPath
from airflow_config_providers.providers.vault.provider import VaultConfigProvider
from airflow_config_providers.providers.vault.secret_cache import LeaseWatch
from tests.limits import eventually
from tests.providers.vault.opened import ManualSessions, counted, opened, parameters, provider_of
from tests.servers.vault_answers import DENIED_BY_POLICY
from tests.servers.web import Request, Response, WebServer

CREDS = "GET database/creds/app 200"
DATA = "GET kv2/data/a 200"
METADATA = "GET kv2/metadata/a 200"
LOOKUP = "POST sys/leases/lookup 200"
A_DAY = "86400000"


class Subscribed:
    """
    A provider with one subscription, and a time that the test moves.

    :ivar heard: the values of each call
    """

    def __init__(self, vault, provider: VaultConfigProvider, sessions: ManualSessions, path: str) -> None:
        self.vault = vault
        self.provider = provider
        self.sessions = sessions
        self.heard: list[dict[str, str]] = []
        provider.subscribe(path, None, self._hear)

    def poll(self, times: int = 1) -> None:
        """Let the time of a poll pass here, and not in Vault."""
        for _ in range(times):
            self.sessions.clock.sleep(70)
            self._run_due()

    def pass_time(self, seconds: float) -> None:
        """Let ``seconds`` pass here and in Vault, and do what is due meanwhile."""
        self.sessions.pass_time(seconds, self.vault)
        self.sessions.pass_time(0.25, self.vault)  # a sign of a change is followed after a moment
        self._run_due()

    def has_heard(self, calls: int) -> bool:
        """Wait for so many calls, and return whether there is no other."""
        return eventually(lambda: len(self.heard) >= calls) and len(self.heard) == calls

    def _hear(self, path: str, data: ConfigData) -> None:
        self.heard.append(dict(data.data))

    def _run_due(self) -> None:
        self.provider._subscriptions._timetable.run_due()


@contextlib.contextmanager
def subscribed(vault, path: str, **given) -> Iterator[Subscribed]:
    sessions = ManualSessions()
    with opened(vault, sessions=sessions, **given) as provider:
        yield Subscribed(vault, provider, sessions, path)


@pytest.fixture
def secret(vault) -> str:
    """A path."""
    vault.put("a", {"k": "c4nary-one"})
    return f"{vault.kv2}/a"


def test_three_rotations_are_three_calls_and_no_value_is_in_the_log(
    vault, secret: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with subscribed(vault, secret) as subscription:
        subscription.poll()
        vault.put("a", {"k": "c4nary-two"})
        subscription.poll(2)
        assert subscription.has_heard(1)
        vault.admin.delete(f"{vault.kv2}/metadata/a")  # all versions, so that the next one is number 1 again
        vault.put("a", {"k": "c4nary-three"})
        subscription.poll(2)
        assert subscription.has_heard(2)
        vault.put("a", {"k": "c4nary-four"})
        subscription.poll(2)
        assert subscription.has_heard(3)
    assert [data["k"] for data in subscription.heard] == ["c4nary-two", "c4nary-three", "c4nary-four"]
    assert "c4nary" not in caplog.text
    assert vault.live_tokens() == frozenset()


def test_without_a_new_version_only_metadata_is_read(vault, secret: str) -> None:
    with subscribed(vault, secret) as subscription:
        subscription.poll(5)
        assert (counted(vault)[DATA], counted(vault)[METADATA]) == (2, 5)
        vault.put("a", {"k": "two"})
        subscription.poll(2)
        assert (counted(vault)[DATA], counted(vault)[METADATA]) == (3, 7)


def test_a_new_version_with_the_same_values_is_no_change(vault, secret: str) -> None:
    with subscribed(vault, secret) as subscription:
        vault.put("a", {"k": "c4nary-one"})
        subscription.poll(2)
        vault.put("a", {"k": "two"})
        subscription.poll()
        assert subscription.has_heard(1)
        assert subscription.heard == [{"k": "two"}]


def test_a_pinned_version_stays_the_same(vault, secret: str) -> None:
    with subscribed(vault, f"{secret}?version=1") as subscription:
        for password in ("two", "three"):
            vault.put("a", {"k": password})
            subscription.poll()
        assert subscription.heard == []
        assert counted(vault)[DATA] == 2


def test_metadata_that_are_denied_are_told_once_and_values_are_read(
    vault, secret: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    vault.put("b", {"k": "one"})
    with subscribed(vault, secret, role=vault.approle(f"{vault.kv2}/data/*")) as subscription:
        subscription.provider.subscribe(f"{vault.kv2}/b", None, lambda path, data: None)
        subscription.poll(5)
        vault.put("a", {"k": "two"})
        subscription.poll()
        assert subscription.has_heard(1)
        assert counted(vault)["GET kv2/metadata/a 403"] == 1
        assert counted(vault)[DATA] == 7
    assert caplog.text.count("may not read metadata") == 1
    assert f"let a policy read '{vault.kv2}/metadata/" in caplog.text


def test_denied_metadata_are_asked_for_again_after_an_hour(vault, secret: str) -> None:
    with subscribed(vault, secret, role=vault.approle(f"{vault.kv2}/data/*", ttl=36000)) as subscription:
        subscription.poll(2)
        subscription.sessions.clock.sleep(3600)
        subscription.poll()
        assert counted(vault)["GET kv2/metadata/a 403"] == 2


def test_a_change_in_kv_1_is_found_although_no_ttl_moved(vault) -> None:
    vault.put_v1("a", {"k": "one", "ttl": "1h"})
    with subscribed(vault, f"{vault.kv1}/a") as subscription:
        subscription.poll(2)
        vault.put_v1("a", {"k": "two", "ttl": "1h"})
        subscription.poll()
        assert subscription.has_heard(1)
        assert subscription.heard == [{"k": "two", "ttl": "1h"}]


def test_a_change_of_a_static_role_is_found() -> None:
    passwords, sessions, heard = ["one"], ManualSessions(), []

    def answer(request: Request) -> Response:
        if request.path == "/v1/sys/internal/ui/mounts/database/static-creds/app":
            return Response(200, json.dumps({"data": {"path": "database/", "type": "database"}}).encode())
        if request.path != "/v1/database/static-creds/app":
            return Response(404, b'{"errors": []}')
        data = {"username": "app", "password": passwords[-1], "rotation_period": 3600, "ttl": 60 - len(passwords)}
        return Response(200, json.dumps({"data": data}).encode())

    with (
        WebServer(answer) as server,
        contextlib.closing(provider_of({"url": server.address, "token": "t"}, sessions)) as provider,
    ):
        path, keys = "database/static-creds/app", {"username", "password"}
        provider.subscribe(path, keys, lambda _, data: heard.append(data.data["password"]))
        for password in ("one", "two"):
            passwords.append(password)
            sessions.clock.sleep(70)
            provider._subscriptions._timetable.run_due()
        assert eventually(lambda: heard)
    assert heard == ["two"]


@pytest.mark.parametrize("engine", ["kv1", "kv2"])
def test_a_long_cache_hides_no_change(vault, engine: str) -> None:
    put = vault.put if engine == "kv2" else vault.put_v1
    put("a", {"k": "one"})
    with subscribed(vault, f"{getattr(vault, engine)}/a", **{"cache.ttl": A_DAY}) as subscription:
        subscription.poll()
        put("a", {"k": "two"})
        subscription.poll()
        assert subscription.has_heard(1)


# --- what cannot be read is no change


def warnings_of_polls(caplog: pytest.LogCaptureFixture) -> int:
    assert "c4nary" not in caplog.text
    return caplog.text.count("could not be read to look for changes")


def test_a_secret_that_is_deleted_is_no_change(vault, secret: str, caplog: pytest.LogCaptureFixture) -> None:
    with subscribed(vault, secret) as subscription:
        vault.admin.delete(f"{vault.kv2}/data/a")
        subscription.poll(3)
        assert subscription.heard == []
        vault.put("a", {"k": "two"})
        subscription.poll()
        assert subscription.has_heard(1)
    assert warnings_of_polls(caplog) == 1


def test_a_secret_that_is_absent_at_first_is_told_when_it_is_there(vault, caplog: pytest.LogCaptureFixture) -> None:
    with subscribed(vault, f"{vault.kv2}/a") as subscription:
        subscription.poll(3)
        assert subscription.heard == []
        vault.put("a", {"k": "one"})
        subscription.poll()
        assert subscription.has_heard(1)
    assert len([record for record in caplog.records if record.levelno == logging.WARNING]) == 1
    assert "has no secret at" in caplog.text


def test_a_denied_secret_is_no_change(vault, secret: str, caplog: pytest.LogCaptureFixture) -> None:
    with subscribed(vault, secret) as subscription:
        vault.fail(99, 403, path=vault.kv2, body=json.dumps({**DENIED_BY_POLICY, "warnings": ["c4nary"]}))
        subscription.poll(3)
        assert subscription.heard == []
        vault.reset()
        vault.put("a", {"k": "two"})
        subscription.poll()
        assert subscription.has_heard(1)
    assert warnings_of_polls(caplog) == 1


def test_a_sealed_server_is_no_change(vault, secret: str, caplog: pytest.LogCaptureFixture) -> None:
    with subscribed(vault, secret) as subscription:
        with vault.sealed():
            subscription.poll(3)
        assert subscription.heard == []
        vault.put("a", {"k": "two"})
        subscription.poll()
        assert subscription.has_heard(1)
    assert warnings_of_polls(caplog) == 1


@pytest.mark.parametrize("is_leased", [False, True], ids=["kv", "lease"])
def test_a_revoked_token_is_no_change(vault, secret: str, is_leased: bool, caplog: pytest.LogCaptureFixture) -> None:
    token = vault.token("*")
    with subscribed(vault, vault.creds() if is_leased else secret, token=token) as subscription:
        vault.admin.write_data("auth/token/revoke", data={"token": token})
        subscription.poll(3)
        assert subscription.heard == []
    assert warnings_of_polls(caplog) == 1


def test_a_revoked_login_is_replaced_without_a_call(vault, secret: str, caplog: pytest.LogCaptureFixture) -> None:
    with subscribed(vault, secret) as subscription:
        revoke_logins(vault)
        subscription.poll(2)
        assert subscription.heard == []
        assert counted(vault)["POST auth/approle/login 200"] == 2
    assert "could not be read" not in caplog.text


def revoke_logins(vault) -> None:
    for accessor in vault.live_tokens():
        vault.admin.write_data("auth/token/revoke-accessor", data={"accessor": accessor})


# --- leases


def test_polls_make_no_new_credentials_while_the_lease_is_renewed(vault) -> None:
    with subscribed(vault, vault.creds(ttl=3600), **{"cache.ttl": "0"}) as subscription:
        for _ in range(200):
            subscription.poll()
            subscription.sessions.made[0].renewals.run_due()
        assert subscription.heard == []
        asked = counted(vault)
        assert (asked[CREDS], asked[LOOKUP]) == (1, 200)
        assert 5 <= asked["POST sys/leases/renew 200"] <= 7


def test_a_lease_that_was_revoked_is_replaced_and_told_once(vault, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    path = vault.creds(ttl=3600)
    with subscribed(vault, path) as subscription:
        first = subscription.provider.get(path).data
        (lease,) = vault.live_leases()
        vault.admin.write_data("sys/leases/revoke", data={"lease_id": lease, "sync": True})
        subscription.poll(3)
        assert subscription.has_heard(1)
        assert subscription.heard[0]["username"] != first["username"]
        assert subscription.provider.get(path).data == subscription.heard[0]
        assert counted(vault)[CREDS] == 2
        assert len(vault.live_leases()) == 1
    assert eventually(lambda: not vault.live_leases())
    for value in (*first.values(), *subscription.heard[0].values()):
        assert value not in caplog.text


def test_leases_that_ended_with_a_revoked_login_are_replaced(vault) -> None:
    with subscribed(vault, vault.creds(ttl=3600)) as subscription:
        revoke_logins(vault)
        subscription.poll(2)
        assert subscription.has_heard(1)
        assert counted(vault)[CREDS] == 2


def test_a_login_that_may_not_look_up_leases_hears_of_a_revocation_at_the_renewal(
    vault, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    role = vault.approle("*", {"sys/leases/lookup": ["deny"]})
    with subscribed(vault, vault.creds(ttl=1000), role=role) as subscription:
        subscription.poll(2)
        (lease,) = vault.live_leases()
        vault.admin.write_data("sys/leases/revoke", data={"lease_id": lease, "sync": True})
        subscription.poll()
        assert subscription.heard == []
        subscription.sessions.clock.sleep(700)
        subscription.sessions.made[0].renewals.run_due()
        subscription.poll()
        assert subscription.has_heard(1)
        assert counted(vault)["POST sys/leases/lookup 403"] == 1
    assert caplog.text.count("may not look up leases (status 403") == 1


def test_at_its_maximum_a_lease_is_replaced_before_it_ends(vault) -> None:
    with subscribed(vault, vault.creds(ttl=4, max_ttl=5), **{"poll.interval": "3600000"}) as subscription:
        first = subscription.provider.get(f"{vault.database}/creds/app").data
        for _ in range(10):
            subscription.pass_time(0.4)
        assert subscription.has_heard(1)
        assert subscription.heard[0]["username"] != first["username"]
        assert counted(vault)[CREDS] == 2
        assert counted(vault)["POST sys/leases/revoke 204"] == 0  # the old one may still be used


def test_a_lease_that_was_renewed_after_an_outage_is_replaced_before_it_ends(vault) -> None:
    with subscribed(vault, vault.creds(ttl=1000), **{"poll.interval": "3600000"}) as subscription:
        elapse(subscription, 700, path="")
        elapse(subscription, 51, path="")  # less than a quarter is left, and Vault does not answer
        elapse(subscription, 50)
        assert counted(vault)["POST sys/leases/renew 200"] == 1
        elapse(subscription, 700, path="sys/leases/renew")
        elapse(subscription, 60, path="sys/leases/renew")
        assert subscription.has_heard(1)
        assert counted(vault)[CREDS] == 2


def elapse(subscription: Subscribed, seconds: float, *, path: str | None = None) -> None:
    """Let time pass here, while Vault does not answer below ``path``."""
    if path is not None:
        subscription.vault.fail(9, 503, path=path)
    subscription.sessions.clock.sleep(seconds)
    subscription.sessions.made[0].renewals.run_due()
    subscription.sessions.clock.sleep(0.25)
    subscription._run_due()
    subscription.vault._front._faults.clear()


def test_before_a_login_ends_its_leases_are_replaced(vault) -> None:
    role = vault.approle("*", ttl=4, token_max_ttl=4)
    with subscribed(vault, vault.creds(ttl=3600), role=role, **{"poll.interval": "3600000"}) as subscription:
        for _ in range(10):
            subscription.pass_time(0.1)  # 3.5 seconds with the wait after a sign
        assert subscription.heard == []
        for _ in range(7):
            subscription.pass_time(0.1)  # Vault rounds up the seconds that are left at the last renewal
        assert subscription.has_heard(1)
        assert counted(vault)["POST auth/approle/login 200"] == 2


def test_a_lease_is_not_returned_after_its_end_whatever_the_cache(vault) -> None:
    sessions, path = ManualSessions(), vault.creds(ttl=90)
    with opened(vault, sessions=sessions, **{"cache.ttl": A_DAY}) as provider:
        first = provider.get(path).data
        sessions.clock.sleep(91)
        assert provider.get(path).data != first


def test_a_lease_is_not_replaced_while_its_renewal_is_due(vault) -> None:
    sessions, path = ManualSessions(), vault.creds(ttl=100)
    with opened(vault, sessions=sessions) as provider:
        first = provider.get(path).data
        sessions.clock.sleep(70)
        assert provider.get(path).data == first
        sessions.clock.sleep(6)
        assert provider.get(path).data != first


def test_credentials_that_come_when_the_provider_is_closed_are_given_back(vault) -> None:
    sessions, path = ManualSessions(), vault.creds()
    params = parameters(vault, role=vault.approle("*", {"sys/leases/revoke": ["update"]}))
    first, second = provider_of(params, sessions), provider_of(params, sessions)
    with contextlib.closing(second):
        second.get(path)
        cache = first._cache
        first.close()
        cache.poll(VaultPath.parse(path), None)
        assert eventually(lambda: len(vault.live_leases()) == 1)
        assert counted(vault)["POST sys/leases/revoke 204"] == 1


def test_a_closed_provider_polls_no_more(vault, secret: str) -> None:
    with subscribed(vault, secret) as subscription:
        table = subscription.provider._subscriptions._timetable
    vault.reset()
    subscription.sessions.clock.sleep(70)
    table.run_due()
    assert vault.requests() == ()


@pytest.mark.parametrize("interval", ["999", "soon", "1e4"])
def test_a_poll_interval_that_cannot_be_used_is_reported_with_all_other_problems(vault, interval: str) -> None:
    params = {**parameters(vault), "poll.interval": interval, "timeout": "never"}
    with pytest.raises(ProviderDefinitionError) as caught:
        provider_of(params)
    assert len(caught.value.problems) == 2
    assert "poll.interval is not a whole number from 1000" in str(caught.value)


def test_each_of_many_paths_is_parsed_once_however_many_are_followed(monkeypatch):
    """Each of a task's subscriptions follows one path more; two thousand of them took a minute."""
    parsed, parse = [], VaultPath.parse
    monkeypatch.setattr(VaultPath, "parse", lambda text: parsed.append(text) or parse(text))
    watch = LeaseWatch(SimpleNamespace(lease=lambda path: None))
    paths = [f"kv/apps/{number}" for number in range(100)]
    for number in range(100):
        watch.follow(paths[: number + 1], lambda path: None)

    assert parsed == paths
