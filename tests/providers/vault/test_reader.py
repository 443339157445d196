"""Threads that come to an unknown mount at the same time: what one of them fails with is its own."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from airflow_config_providers.exceptions import (
    AccessDeniedError,
    ConfigException,
    ConfigProvidersError,
    ProviderLookupError,
    ProviderUnavailableError,
)
from airflow_config_providers.providers.vault.provider import VaultConfigProvider
from tests.limits import LONGEST
from tests.providers.vault.opened import provider_of
from tests.servers.web import Request, Response, WebServer

NOT_FOUND = Response(404, b'{"errors": []}', {"Content-Type": "application/json"})


class Held:
    """An application that answers the first request only when ``go`` is set."""

    def __init__(self, answer: Callable[[str], Response]) -> None:
        self._answer = answer
        self._first = threading.Lock()
        self.came, self.go = threading.Event(), threading.Event()

    def __call__(self, request: Request) -> Response:
        if self._first.acquire(blocking=False):
            self.came.set()
            assert self.go.wait(LONGEST)
        return self._answer(request.path.removeprefix("/v1/"))


def good(body: object) -> Response:
    return Response(200, json.dumps(body).encode(), {"Content-Type": "application/json"})


def outcomes(application: Held, first: str, *others: str) -> list[object]:
    """Read ``others`` during the read of the first path, and return the result of each, the first one first."""
    with WebServer(application) as server, ThreadPoolExecutor(len(others) + 1) as pool:
        provider = provider_of({"url": server.address, "token": "hvs.t"})
        ahead = pool.submit(read, provider, first)
        assert application.came.wait(LONGEST)
        after = [pool.submit(read, provider, path) for path in others]
        threading.Timer(0.2, application.go.set).start()  # mostly they wait by then; if not, they succeed all the same
        found = [future.result(LONGEST) for future in [ahead, *after]]
        provider.close()
    return found


def read(provider: VaultConfigProvider, path: str) -> object:
    try:
        return dict(provider.get(path, {"k"}).data)
    except ConfigProvidersError as error:
        return type(error)


def kv_1(path: str) -> Response:
    if path.startswith("sys/internal/ui/mounts/kv/"):
        return good({"data": {"path": "kv/", "type": "kv", "options": None}})
    return NOT_FOUND if path.startswith("kv/data/") else good({"data": {"k": path}})


def test_a_version_where_none_are_kept_fails_no_other_path() -> None:
    paths = [f"kv/team/{number}" for number in range(8)]
    first, *others = outcomes(Held(kv_1), "kv/team/a?version=1", *paths)
    assert first is ConfigException
    assert others == [{"k": path} for path in paths]


def system_below_a_namespace(path: str) -> Response:
    if path.startswith("sys/internal/ui/mounts/team/sys/"):
        return good({"data": {"path": "team/sys/", "type": "ns_system"}})
    if path.startswith("sys/internal/ui/mounts/team/kv/"):
        return good({"data": {"path": "team/kv/", "type": "kv", "options": {"version": "1"}}})
    return good({"data": {"k": path}}) if path.startswith("team/kv/") else NOT_FOUND


def test_a_path_to_where_vault_keeps_itself_fails_no_other_path() -> None:
    paths = [f"team/kv/{number}" for number in range(8)]
    first, *others = outcomes(Held(system_below_a_namespace), "team/sys/config", *paths)
    assert first is AccessDeniedError
    assert others == [{"k": path} for path in paths]


def login_below_a_namespace(path: str) -> Response:
    if path.startswith("sys/internal/ui/mounts/team/auth/token/"):
        return good({"data": {"path": "team/auth/token/", "type": "ns_token"}})
    return good({"request_id": "1", "data": {"id": "hvs.t"}}) if path == "team/auth/token/lookup-self" else NOT_FOUND


@pytest.mark.parametrize("mount_point", ["", "team"])
@pytest.mark.parametrize("version", ["", "1", "2"])
def test_no_reference_reads_our_token_in_a_namespace_below(mount_point: str, version: str) -> None:
    given = {"mount_point": mount_point, "kv_engine_version": version}
    with WebServer(lambda request: login_below_a_namespace(request.path.removeprefix("/v1/"))) as server:
        provider = provider_of({"url": server.address, "token": "hvs.t", **{k: v for k, v in given.items() if v}})
        with contextlib.closing(provider), pytest.raises(AccessDeniedError, match="belongs to Vault itself"):
            provider.get("team/auth/token/lookup-self", {"id"})


def login_methods_below_a_namespace(path: str) -> Response:
    asked = path.removeprefix("sys/internal/ui/mounts/")
    for mount, kind in {"team/auth/approle": "approle", "team/sub/auth/userpass": "userpass", "kv/auth": "kv"}.items():
        if asked.startswith(mount):
            return good({"data": {"k": path}}) if asked == path else good({"data": {"path": f"{mount}/", "type": kind}})
    return NOT_FOUND


@pytest.mark.parametrize("path", ["team/auth/approle/role/a/role-id", "team/sub/auth/userpass/users/bob"])
def test_no_reference_reads_a_login_method_in_a_namespace_below(path: str) -> None:
    found = outcomes(Held(login_methods_below_a_namespace), path, "kv/auth/a")
    assert found == [AccessDeniedError, {"k": "kv/auth/a"}]


def two_mounts_below_a_name(path: str) -> Response:
    name = path.removeprefix("sys/internal/ui/mounts/")
    if name.startswith("team/") and name != path:
        mount = "/".join(name.split("/")[:2])
        return good({"data": {"path": f"{mount}/", "type": "kv", "options": {"version": "1"}}})
    if path.startswith("team/busy/"):
        return Response(429, b'{"errors": []}', {"Content-Type": "application/json", "Retry-After": "50"})
    return good({"data": {"k": path}}) if path.startswith("team/kv/") else NOT_FOUND


def test_a_mount_that_has_too_many_requests_delays_no_other_mount() -> None:
    good_ones = [f"team/kv/{number}" for number in range(4)]
    busy_ones = [f"team/busy/{number}" for number in range(4)]
    found = outcomes(Held(two_mounts_below_a_name), "team/busy/a", *busy_ones, *good_ones, *good_ones)
    assert found == [ProviderUnavailableError] * 5 + [{"k": path} for path in good_ones] * 2


def elsewhere(path: str) -> Response:
    if path.startswith("kv/data/moved/"):
        return Response(307, b"", {"Location": f"http://127.0.0.1:1/v1/{path}"})
    return good({"data": {"data": {"k": path}, "metadata": {"version": 1}}})


def test_a_path_that_is_answered_with_a_redirect_fails_no_other_path() -> None:
    paths = [f"kv/{number}" for number in range(8)]
    first, *others = outcomes(Held(elsewhere), "kv/moved/a", *paths)
    assert first is ProviderLookupError
    assert others == [{"k": f"kv/data/{number}"} for number in range(8)]
