"""Leaving a server alone that is down."""

from __future__ import annotations

import pytest

from airflow_config_providers.exceptions import AccessDeniedError, ProviderLookupError, ProviderUnavailableError
from airflow_config_providers.providers.vault.breaker import Breaker, Breakers
from airflow_config_providers.testing import FakeClock


class Server:
    """Fails with ``error`` while it is set, and counts requests."""

    def __init__(self, error: ProviderLookupError | None = None) -> None:
        self.clock = FakeClock(100.0)
        self.breaker = Breaker(self.clock)
        self.error = error
        self.asked = 0

    def ask(self, failure: type[ProviderLookupError] = ProviderLookupError) -> None:
        with self.breaker.watching(failure):
            self.asked += 1
            if self.error is not None:
                raise self.error

    def ask_often(self, times: int, failure: type[ProviderLookupError] = ProviderLookupError) -> None:
        for _ in range(times):
            with pytest.raises(ProviderLookupError) as caught:
                self.ask(failure)
            assert type(caught.value) is type(self.error)
            assert str(caught.value) == str(self.error)


def test_attack_61_after_a_few_failures_in_a_row_requests_fail_without_being_sent() -> None:
    server = Server(ProviderUnavailableError("down"))
    server.ask_often(200)
    assert server.asked == 3


def test_after_a_pause_one_request_finds_out_whether_it_is_back() -> None:
    server = Server(ProviderUnavailableError("down"))
    server.ask_often(10)
    server.clock.sleep(2)
    server.ask_often(10)
    assert server.asked == 4


def test_once_it_is_back_everything_is_sent() -> None:
    server = Server(ProviderUnavailableError("down"))
    server.ask_often(10)
    server.clock.sleep(2)
    server.error = None
    for _ in range(5):
        server.ask()
    assert server.asked == 8


def test_failures_with_answers_between_stop_nothing() -> None:
    server = Server()
    for _ in range(5):
        server.error = ProviderUnavailableError("busy")
        server.ask_often(2)
        server.error = None
        server.ask()
    assert server.asked == 15


def test_a_server_that_says_when_is_left_alone_until_then() -> None:
    server = Server(ProviderUnavailableError("too many requests", retry_after=30))
    server.ask_often(10)
    server.clock.sleep(29)
    server.ask_often(10)
    assert server.asked == 1
    server.clock.sleep(1)
    server.ask_often(10)
    assert server.asked == 2


def test_a_server_that_wants_to_be_left_alone_for_ever_is_not() -> None:
    server = Server(ProviderUnavailableError("too many requests", retry_after=999_999))
    server.ask_often(10)
    server.clock.sleep(60)
    server.ask_often(10)
    assert server.asked == 2


def test_a_wrong_address_is_asked_once() -> None:
    server = Server(ProviderLookupError("redirect"))
    server.ask_often(10)
    assert server.asked == 1


def test_what_is_no_failure_of_the_server_stops_nothing() -> None:
    server = Server(AccessDeniedError("no"))
    server.ask_often(10, failure=ProviderUnavailableError)
    assert server.asked == 10


class Mounts:
    """A server with several mounts, each request to which is kept, and fails with ``error`` if one is given."""

    def __init__(self) -> None:
        self.breakers = Breakers(FakeClock(100.0))
        self.asked: list[str] = []

    def ask(self, mount: str, error: ProviderLookupError | None = None, *, is_limit: bool = False) -> None:
        with self.breakers.watching(mount, ProviderLookupError, is_limit=lambda: is_limit):
            self.asked.append(mount)
            if error is not None:
                raise error


def test_a_mount_that_has_too_many_requests_is_left_alone_and_no_other() -> None:
    server = Mounts()
    for _ in range(3):
        with pytest.raises(ProviderUnavailableError, match="too many"):
            server.ask("kv", ProviderUnavailableError("too many", retry_after=30), is_limit=True)
        server.ask("db")
    assert server.asked == ["kv", "db", "db", "db"]


def test_a_server_that_is_down_is_left_alone_whatever_the_mount() -> None:
    server = Mounts()
    for number in range(10):
        with pytest.raises(ProviderUnavailableError):
            server.ask(f"mount {number}", ProviderUnavailableError("down"))
    assert len(server.asked) == 3
