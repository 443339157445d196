"""A day of a thousand leases, by a clock that the test moves."""

from __future__ import annotations

import contextlib
import random
import threading
from collections import Counter

import pytest

from airflow_config_providers.core.provider import ConfigData
from airflow_config_providers.providers.vault.provider import VaultConfigProvider
from airflow_config_providers.providers.vault.session import Session, Sessions
from airflow_config_providers.testing import FakeClock
from tests.limits import eventually
from tests.providers.vault.lease_server import Given, LeaseServer, Terms

A_DAY = 24 * 60 * 60
HOUR = 60 * 60
POLL = HOUR // 2

LOGINS = {"ends": Terms(HOUR, 10 * HOUR), "goes-on": Terms(HOUR, 365 * 24 * HOUR)}
LEASES = [Terms(HOUR, 8 * HOUR), Terms(HOUR // 2, 4 * HOUR), Terms(2 * HOUR, 2 * HOUR), Terms(3 * HOUR, 48 * HOUR)]
COUNT = 1000


def most_requests(terms: Terms, *, logins: int) -> float:
    """
    Return how many requests a subscribed lease costs in a day, at most, as *Read secrets from Vault* says.

    :param logins: how many logins the leases come from, one after the other
    """
    leases = logins + A_DAY / (0.65 * terms.most)
    renewals = A_DAY / (0.6 * terms.ttl) + leases if terms.is_renewable else 0.0
    return leases + renewals + A_DAY / POLL


class Day:
    """
    A day of several providers.

    Four of five leases have a subscriber, who uses what it was told last; the fifth is used by someone who never asks
    again.

    :ivar used: path -> the lease that a subscriber uses
    :ivar calls: for each call the lease that was replaced, and when
    :ivar asked: what the server was asked before the end of the day
    """

    def __init__(self) -> None:
        self.clock = FakeClock(1000.0)
        paths = {f"db/creds/{number}": LEASES[number % len(LEASES)] for number in range(COUNT)}
        self.server = LeaseServer(self.clock, logins=LOGINS, leases=paths)
        self.made: list[Session] = []
        sessions = Sessions(self._session)
        self.providers = [self._provider(user, sessions) for user in (*LOGINS, *LOGINS)]
        self.used: dict[str, Given] = {}
        self.calls: list[tuple[Given, float]] = []
        self.revoked: list[Given] = []
        self.revoked_at = 0.0
        self.asked: Counter[str] = Counter()
        for number, path in enumerate(paths):
            self._take(number, path)

    def provider_of(self, path: str) -> VaultConfigProvider:
        """Return the provider that has the lease of ``path``."""
        return self.providers[int(path.rpartition("/")[2]) // 4 % len(self.providers)]

    def live(self, seconds: int) -> None:
        """Let time pass, and do what is due."""
        for _ in range(seconds):
            self.clock.sleep(1)
            for session in self.made:
                session.renewals.run_due()
            for provider in self.providers:
                provider._subscriptions._timetable.run_due()
            missing = len(self.server.leases) - COUNT - len(self.calls)
            assert not missing or eventually(lambda: len(self.server.leases) - COUNT == len(self.calls), every=0.001)

    def close(self) -> None:
        """Close all providers."""
        for provider in self.providers:
            provider.close()

    def _take(self, number: int, path: str) -> None:
        provider = self.provider_of(path)
        data = provider.get(path)
        if number % 5:
            self.used[path] = self.server.leases[data.data["username"]]
            provider.subscribe(path, None, self._hear)

    def _hear(self, path: str, data: ConfigData) -> None:
        before, self.used[path] = self.used[path], self.server.leases[data.data["username"]]
        self.calls.append((before, self.clock.now))

    def _session(self, settings, no_fork: threading.Lock) -> Session:
        session = Session(
            settings, clock=self.clock, make_client=self.server.client, start=lambda _: None, no_fork=no_fork
        )
        self.made.append(session)
        return session

    def _provider(self, user: str, sessions: Sessions) -> VaultConfigProvider:
        provider = VaultConfigProvider(connections=lambda _: None, environ={}, sessions=sessions)
        provider.configure(
            {
                "url": "http://127.0.0.1:1",
                "auth_type": "userpass",
                "username": user,
                "password": "p",
                "give_back_after_kill": "false",
                "poll.interval": str(POLL * 1000),
            }
        )
        return provider


def live_until_the_job_fails(day: Day) -> None:
    """Live a day in which an administrator ends ten leases, and the server is away for three minutes."""
    day.live(5 * HOUR)
    day.revoked, day.revoked_at = random.sample(list(day.used.values()), 10), day.clock.now
    for lease in day.revoked:
        lease.is_revoked = True
    day.live(7 * HOUR)
    day.server.is_down = True
    day.live(3 * 60)
    day.server.is_down = False
    day.live(12 * HOUR - 3 * 60)
    day.asked = day.server.asked.copy()
    assert all(day.server.lives(lease) for lease in day.used.values())
    raise RuntimeError("the job fails")


@pytest.mark.slow
def test_a_day_of_a_thousand_leases() -> None:
    day = Day()
    with pytest.raises(RuntimeError, match="the job fails"), contextlib.closing(day):
        live_until_the_job_fails(day)

    # none was used after its end, and what was revoked no longer than until the next poll
    for lease, until in day.calls:
        end = min(lease.expires, day.server.logins[lease.token].expires)
        assert until < (day.revoked_at + 1.1 * POLL + 5 if lease in day.revoked else end)
    assert {lease.id for lease in day.revoked} <= {lease.id for lease, _ in day.calls}

    # none was renewed needlessly, and the renewals are apart
    for lease in day.server.leases.values():
        life = min(lease.expires, day.clock.now) - lease.since
        assert len(lease.renewed) <= life / (0.6 * lease.terms.ttl) + 1
    seconds = Counter(int(moment) for lease in day.server.leases.values() for moment in lease.renewed)
    assert max(seconds.values()) <= COUNT * 0.03

    # the requests are within what the documentation says, which is not much more than there are
    most = sum(most_requests(LEASES[number % len(LEASES)], logins=3) for number in range(COUNT))
    assert most * 0.6 < day.asked.total() - day.asked["down"] < most

    # everything was given back
    assert not [lease for lease in day.server.leases.values() if day.server.lives(lease)]
    assert not [login for login in day.server.logins.values() if login.lives_at(day.clock.now)]
