from __future__ import annotations

import json
import logging
from collections.abc import Callable
from contextlib import closing

import pytest

from airflow_config_providers.providers.vault.logins.login import LONGEST, seconds
from airflow_config_providers.providers.vault.renewal_rules import when_to_renew, when_to_retry
from airflow_config_providers.providers.vault.secret_cache import LeaseWatch
from airflow_config_providers.providers.vault.session import (
    Session,
    Sessions,
)
from tests.providers.vault.opened import ManualSessions, opened, provider_of
from tests.servers.web import Request, Response, WebServer


def test_the_moment_is_about_two_thirds_and_differs() -> None:
    moments = {when_to_renew(100, 60) for _ in range(50)}
    assert len(moments) > 10
    assert all(136 <= moment <= 142 for moment in moments)


@pytest.mark.parametrize(
    ("now", "expires", "again"),
    [(0, 100, 25), (0, 3, 1), (0, 2, None), (5, 4, None)],
    ids=["far", "near", "end", "past"],
)
def test_a_failed_renewal_is_tried_again_while_there_is_time(now: float, expires: float, again: float | None) -> None:
    assert when_to_retry(now, expires) == again


@pytest.mark.parametrize(
    ("duration", "expected"),
    [
        (60, 60.0),
        (1.5, 1.5),
        (0, 0.0),
        (-1, 0.0),
        (float("nan"), 0.0),
        (10**12, float(LONGEST)),
        (10**400, float(LONGEST)),
        (True, 0.0),
        (None, 0.0),
        ("60", 0.0),
    ],
)
def test_durations_are_seconds_within_reason(duration: object, expected: float) -> None:
    assert seconds(duration) == expected


@pytest.fixture
def without_threads() -> Sessions:
    """Sessions in a process that can start no thread."""

    def start(run: Callable[[], None]) -> None:
        raise RuntimeError("can't start new thread")

    return Sessions(lambda settings, no_fork: Session(settings, start=start, no_fork=no_fork))


def test_a_login_that_no_thread_can_renew_is_used(
    vault, without_threads: Sessions, caplog: pytest.LogCaptureFixture
) -> None:
    vault.put("a", {"k": "v"})
    role = vault.approle("*", ttl=60, token_max_ttl=600)
    with opened(vault, sessions=without_threads, role=role) as provider, caplog.at_level(logging.INFO):
        assert provider.get(f"{vault.kv2}/a", {"k"}).data == {"k": "v"}
    assert "nothing is renewed until a thread can be started again" in caplog.text


def test_a_lease_that_no_thread_can_renew_is_used(vault, without_threads: Sessions) -> None:
    path = vault.creds(ttl=90)
    with opened(vault, sessions=without_threads, token=vault.root_token) as provider:
        assert provider.get(path).ttl == 90_000


def test_a_lease_that_no_thread_can_watch_is_used(vault, without_threads: Sessions) -> None:
    path = vault.creds(ttl=90)
    with opened(vault, sessions=without_threads, token=vault.root_token) as provider:
        watch = LeaseWatch(provider._cache)
        watch.follow([path], lambda _: None)
        assert provider.get(path).ttl == 90_000


class SlowToRefuse:
    """
    A Vault in which 100 seconds pass before it refuses a renewal.

    :param leased: what its answers to logins and to reads have of a lease that lasts 900 seconds
    """

    def __init__(self, manual: ManualSessions, *, leased: str) -> None:
        self._manual = manual
        self._leased = leased
        self.renewals = 0

    def __call__(self, request: Request) -> Response:
        if "/renew" in request.path:
            self.renewals += 1
            self._manual.clock.sleep(100)
            return self._answer({"errors": []}, status=400)
        leased = {"lease_duration": 900, "renewable": True}
        if "/login" in request.path:
            return self._answer({"auth": {"client_token": "hvs.t", **(leased if self._leased == "login" else {})}})
        return self._answer({"data": {"k": "v"}, **({"lease_id": "a/b", **leased} if self._leased == "secret" else {})})

    def _answer(self, body: object, status: int = 200) -> Response:
        return Response(status, json.dumps(body).encode(), {"Content-Type": "application/json"})


@pytest.mark.parametrize("leased", ["login", "secret"])
def test_a_slow_refusal_is_not_followed_by_the_next_try_at_once(leased: str) -> None:
    manual = ManualSessions()
    vault = SlowToRefuse(manual, leased=leased)
    approle = {"auth_type": "approle", "role_id": "r", "secret_id": "s"}
    with WebServer(vault) as server:
        params = {"url": server.address, "give_back_after_kill": "false", **approle}
        with closing(provider_of(params, manual)) as provider:
            provider.get("database/creds/app")
            manual.clock.sleep(650)
            manual.made[0].renewals.run_due()
    assert vault.renewals == 1
