"""Answers that come while another thread closes the provider or its session."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable

import pytest

from airflow_config_providers.exceptions import ProviderLookupError
from tests.providers.vault.opened import ManualSessions, provider_of
from tests.providers.vault.processes import children
from tests.servers.recorder import LOGGED_IN
from tests.servers.web import Request, Response, WebServer

LOGIN, CREDS, REVOKE = "/v1/auth/approle/login", "/v1/database/creds/app", "/v1/sys/leases/revoke"
LEASED = {"lease_id": "database/creds/app/1", "lease_duration": 3600, "data": {"username": "u"}}
MOUNT = "/v1/sys/internal/ui/mounts/database/creds/app"
ANSWERS = {LOGIN: LOGGED_IN, CREDS: LEASED, MOUNT: {"data": {"type": "database", "path": "database/"}}}
APPROLE = {"auth_type": "approle", "role_id": "r", "secret_id": "s"}


class Vault:
    """Answers logins and reads of credentials, and calls ``closes`` before it answers ``path``."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.closes: Callable[[], None] = lambda: None
        self.asked: list[str] = []

    def __call__(self, request: Request) -> Response:
        self.asked.append(request.path)
        if request.path == self._path:
            self.closes()
        body = json.dumps(ANSWERS[request.path]).encode() if request.path in ANSWERS else b""
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
