"""Answers that come while another thread closes the provider or its session."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from airflow_config_providers.exceptions import ProviderLookupError
from airflow_config_providers.providers.vault.leases import Leases
from airflow_config_providers.providers.vault.logins.approle import WrappedSecretIdLogin
from airflow_config_providers.providers.vault.logins.credentials import TokenLogin
from airflow_config_providers.providers.vault.logins.login import Credential, Login
from airflow_config_providers.providers.vault.session import HeldToken, Session
from airflow_config_providers.providers.vault.settings import VaultSettings
from tests.providers.vault.opened import ManualSessions, provider_of
from tests.providers.vault.processes import children
from tests.servers.recorder import LOGGED_IN
from tests.servers.web import Request, Response, WebServer

LOGIN, CREDS, REVOKE = "/v1/auth/approle/login", "/v1/database/creds/app", "/v1/sys/leases/revoke"
LEASED = {"lease_id": "database/creds/app/1", "lease_duration": 3600, "data": {"username": "u"}}
UNWRAP = "/v1/sys/wrapping/unwrap"
MOUNT = "/v1/sys/internal/ui/mounts/database/creds/app"
ANSWERS = {
    LOGIN: LOGGED_IN,
    CREDS: LEASED,
    MOUNT: {"data": {"type": "database", "path": "database/"}},
    "/v1/sys/wrapping/lookup": {"data": {"creation_path": "auth/approle/role/r/secret-id"}},
    UNWRAP: {"data": {"secret_id": "s"}},
}
SOON = 5.0
APPROLE = {"auth_type": "approle", "role_id": "r", "secret_id": "s"}


class Vault:
    """Answers logins and reads of credentials, and calls ``closes`` before it answers ``path``."""

    def __init__(self, path: str, answers: Mapping[str, object] = ANSWERS) -> None:
        self._path = path
        self._answers = answers
        self.closes: Callable[[], None] = lambda: None
        self.asked: list[str] = []

    def __call__(self, request: Request) -> Response:
        self.asked.append(request.path)
        if request.path == self._path:
            self.closes()
        body = json.dumps(self._answers[request.path]).encode() if request.path in self._answers else b""
        return Response(200 if body else 204, body, {"Content-Type": "application/json"})


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_login_that_comes_when_its_session_is_closed_leaves_no_helper_behind() -> None:
    vault, before = Vault(LOGIN), children(os.getpid())
    with WebServer(vault) as server:
        provider = provider_of({"url": server.address, **APPROLE})
        vault.closes = provider.close
        with pytest.raises(ProviderLookupError, match="was closed while it signed in"):
            provider.get("database/creds/app")
    assert children(os.getpid()) == before


@pytest.mark.parametrize("answers", [ANSWERS, {**ANSWERS, LOGIN: {}}], ids=["and signs in", "and does not"])
def test_a_login_that_unwraps_when_its_session_is_closed_keeps_no_secret_id(answers: dict[str, object]) -> None:
    vault, login = Vault(UNWRAP, answers), WrappedSecretIdLogin("r", Credential("hvs.w"))
    with WebServer(vault) as server:
        session = Session(VaultSettings(server.address, login, gives_back_after_kill=False))
        vault.closes = session.close
        with pytest.raises(ProviderLookupError):
            session.token()
    assert vault.asked[1:3] == [UNWRAP, LOGIN]
    assert login.unwrapped.text == ""


def test_credentials_of_a_given_token_that_come_when_its_session_is_closed_are_given_back() -> None:
    vault = Vault(CREDS)
    with WebServer(vault) as server:
        provider = provider_of({"url": server.address, "token": "hvs.t"}, ManualSessions())
        vault.closes = provider.close
        provider.get("database/creds/app")
    assert vault.asked[-1] == REVOKE


def test_credentials_that_ended_with_the_login_are_not_given_back() -> None:
    vault = Vault(CREDS)
    with WebServer(vault) as server:
        provider = provider_of({"url": server.address, **APPROLE}, ManualSessions())
        vault.closes = provider.close
        provider.get("database/creds/app")
    assert REVOKE not in vault.asked


# --- between an answer and the plan to renew what it brought ---------------------------------------------


class Threads:
    """The threads that a session starts."""

    def __init__(self) -> None:
        self.started: list[threading.Thread] = []

    def __call__(self, run: Callable[[], None]) -> None:
        self.started.append(threading.Thread(target=run, daemon=True))
        self.started[-1].start()

    def have_ended(self) -> bool:
        for thread in self.started:
            thread.join(SOON)
        return not any(thread.is_alive() for thread in self.started)


def test_a_login_whose_session_is_closed_before_its_renewal_is_planned_is_not_renewed() -> None:
    threads, login = Threads(), RenewableLogin(lambda: session.close())  # noqa: PLW0108 - the session is made below
    session = Session(VaultSettings("http://127.0.0.1:1", login, gives_back_after_kill=False), start=threads)
    session.token()
    assert threads.have_ended()


@pytest.mark.parametrize("session_ends", [True, False], ids=["and its session", "alone"])
def test_a_lease_whose_provider_is_closed_before_its_renewal_is_planned_is_not_renewed(session_ends: bool) -> None:
    threads = Threads()
    login = TokenLogin(Credential("hvs.t"))
    session = Session(VaultSettings("http://127.0.0.1:1", login, gives_back_after_kill=False), start=threads)
    leases, token = Leases(session), HeldToken("hvs.t", False, session.clock(), None)

    def close() -> None:
        leases.give_back(session_ends=session_ends, until=0.0)
        if session_ends:
            session.close()

    body = RenewableBody(LEASED)
    body.closes = close
    leases.add(body, token=token, since=session.clock())
    assert threads.have_ended()


@dataclass(frozen=True)
class RenewableLogin(Login):
    """A login that calls ``closes`` when it is asked whether its token can be renewed."""

    closes: Callable[[], None]

    def __call__(self, client: object) -> Any:
        return RenewableToken(self)


class RenewableToken:
    """The token of a ``RenewableLogin``."""

    token, ttl, is_ours = "hvs.t", 3600.0, True

    def __init__(self, login: RenewableLogin) -> None:
        self._login = login

    @property
    def is_renewable(self) -> bool:
        self._login.closes()
        return True


class RenewableBody(dict[str, Any]):
    """The answer that brings a lease, and calls ``closes`` when it is asked whether the lease can be renewed."""

    closes: Callable[[], None]

    def get(self, name: str, default: object = None) -> Any:
        if name != "renewable":
            return super().get(name, default)
        self.closes()
        return True
