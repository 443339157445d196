from __future__ import annotations

import asyncio
import contextlib
import json
import threading

import pytest

from airflow_config_providers.core import (
    ConfigLayer,
    ConfigResolver,
    ConfigSource,
    ConfigTransformer,
    ProviderRegistry,
)
from airflow_config_providers.core.provider import ConfigData
from airflow_config_providers.exceptions import ProviderDefinitionError
from airflow_config_providers.providers.vault.provider import VaultConfigProvider
from tests.limits import LONGEST
from tests.providers.vault.opened import ManualSessions, counted, opened, parameters, provider_of, seen, side_by_side
from tests.servers.web import Request, Response, WebServer

LOGIN = "POST auth/approle/login 200"


def references(vault, *, paths: int, keys: int) -> dict[str, str]:
    """Put secrets at so many paths and give a configuration that refers to each key."""
    for path in range(paths):
        vault.put(f"apps/db{path}", {f"k{key}": f"{path}.{key}" for key in range(keys)})
    return {
        f"{path}.{key}": f"${{vault:{vault.kv2}/apps/db{path}:k{key}}}" for path in range(paths) for key in range(keys)
    }


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        pytest.param(None, {"password": "x", "empty": "", "n": "1"}, id="all"),
        pytest.param({"password"}, {"password": "x"}, id="one"),
        pytest.param({"password", "absent"}, {"password": "x"}, id="one is missing"),
        pytest.param({"empty"}, {"empty": ""}, id="empty is a value"),
        pytest.param({"null"}, {}, id="null is none"),
        pytest.param(set(), {}, id="none"),
    ],
)
def test_the_keys_named_are_given(vault, keys: set[str] | None, expected: dict[str, str]) -> None:
    vault.put("db", {"password": "x", "empty": "", "n": 1, "null": None})
    with opened(vault) as provider:
        assert provider.get(f"{vault.kv2}/db", keys) == ConfigData(expected, ttl=None)


def test_for_no_keys_nothing_is_asked(vault) -> None:
    with opened(vault) as provider:
        provider.get("secret/db", set())
        assert seen(vault) == []


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("credentials.password", "x"),
        ("users.1.name", "b"),
        ("a.b", "dotted"),
        ("credentials", '{"password":"x","port":5432}'),
        ("credentials.port", "5432"),
        ("flag", "true"),
    ],
)
def test_a_key_reaches_into_a_document(vault, key: str, expected: str) -> None:
    document = {
        "credentials": {"password": "x", "port": 5432},
        "users": [{"name": "a"}, {"name": "b"}],
        "a.b": "dotted",
        "a": {"b": "nested"},
        "flag": True,
    }
    vault.put("db", document)
    with opened(vault) as provider:
        assert provider.get(f"{vault.kv2}/db", {key}).data == {key: expected}


def test_a_version_is_pinned(vault) -> None:
    for password in ("one", "two", "three"):
        vault.put("db", {"password": password})
    with opened(vault) as provider:
        found = [provider.get(f"{vault.kv2}/db{end}", {"password"}).data for end in ("?version=2", "", "?version=1")]
    assert [data["password"] for data in found] == ["two", "three", "one"]


@pytest.mark.parametrize("gone", ["delete", "destroy"])
def test_a_version_that_is_gone_is_missing(vault, gone: str) -> None:
    for password in ("one", "two"):
        vault.put("db", {"password": password})
    vault.admin.write_data(f"{vault.kv2}/{gone}/db", data={"versions": [1]})
    with opened(vault) as provider:
        assert provider.get(f"{vault.kv2}/db?version=1").data == {}
        assert provider.get(f"{vault.kv2}/db?version=3").data == {}
        assert provider.get(f"{vault.kv2}/db").data == {"password": "two"}


@pytest.mark.parametrize("name", ["a b", "ü", "a%2fb", "a&b=c", "a;b", "a+b", "a'b", "a..b"])
def test_a_name_is_quoted(vault, name: str) -> None:
    from urllib.parse import quote

    vault.admin.write_data(f"{vault.kv2}/data/{quote(name, safe='')}", data={"data": {"k": name}})
    with opened(vault) as provider:
        assert provider.get(f"{vault.kv2}/{name}", {"k"}).data == {"k": name}


def test_what_is_missing_is_told(vault, caplog: pytest.LogCaptureFixture) -> None:
    with opened(vault) as provider:
        assert provider.get(f"{vault.kv2}/absent", {"k"}).data == {}
    assert f"has no secret at '{vault.kv2}/absent'" in caplog.text


def transformed(provider: VaultConfigProvider, configs: dict[str, str]) -> object:
    return ConfigTransformer({"vault": provider}).transform(configs).data


def resolved(provider: VaultConfigProvider, configs: dict[str, str]) -> object:
    return (
        ConfigResolver({"vault": provider}).resolve([ConfigLayer(ConfigSource.DAG_CONFIG, "conf", configs)]).configs()
    )


@pytest.mark.parametrize("asked", [transformed, resolved])
@pytest.mark.parametrize("threads", [1, 64])
def test_100_references_on_5_paths_are_1_login_and_5_reads(vault, asked, threads: int) -> None:
    configs, sessions = references(vault, paths=5, keys=20), ManualSessions()
    with opened(vault, sessions=sessions) as provider:
        found = side_by_side(threads, lambda: asked(provider, configs))
        assert found == [{key: key for key in configs}] * threads
        assert counted(vault) == {LOGIN: 1, **{f"GET kv2/data/apps/db{path} 200": 1 for path in range(5)}}
    assert counted(vault)["POST auth/token/revoke-self 204"] == 1


def test_what_kind_of_mount_it_is_is_asked_once_for_paths_that_are_read_side_by_side(vault) -> None:
    for path in range(20):
        vault.put_v1(f"apps/db{path}", {"k": str(path)})
    configs = {str(path): f"${{vault:{vault.kv1}/apps/db{path}:k}}" for path in range(20)}
    with opened(vault) as provider:
        vault.delay(50)
        assert transformed(provider, configs) == {key: key for key in configs}
        asked = counted(vault)
        assert asked[LOGIN] == 1
        assert sum(count for request, count in asked.items() if "sys/internal/ui/mounts" in request) == 1
        assert {asked[f"GET kv1/apps/db{path} 200"] for path in range(20)} == {1}


def test_20_paths_are_read_side_by_side() -> None:
    """The first one shows what the mount is; the server answers none of the others before it has all of them."""
    together, first = threading.Barrier(19), threading.Event()

    def answer(request: Request) -> Response:
        if first.is_set():
            together.wait(LONGEST)
        first.set()
        body = {"data": {"data": {"k": request.path.rpartition("/")[2]}, "metadata": {"version": 1}}}
        return Response(200, json.dumps(body).encode())

    configs = {str(path): f"${{vault:secret/{path}:k}}" for path in range(20)}
    with WebServer(answer) as server:
        params = {"url": server.address, "token": "t", "timeout": str(LONGEST)}
        with contextlib.closing(provider_of(params)) as provider:
            assert transformed(provider, configs) == {key: key for key in configs}


def test_a_path_is_not_read_again_for_a_while(vault) -> None:
    vault.put("db", {"k": "old"})
    sessions = ManualSessions()
    with opened(vault, sessions=sessions, **{"cache.ttl": "500"}) as provider:
        path = f"{vault.kv2}/db"
        provider.get(path, {"k"})
        vault.put("db", {"k": "new"})
        sessions.clock.sleep(0.499)
        assert provider.get(path, {"k"}).data == {"k": "old"}
        sessions.clock.sleep(0.002)
        assert provider.get(path, {"k"}).data == {"k": "new"}
        assert counted(vault)["GET kv2/data/db 200"] == 2


def test_without_a_cache_every_read_is_a_request(vault) -> None:
    vault.put("db", {"k": "v"})
    with opened(vault, **{"cache.ttl": "0"}) as provider:
        for _ in range(3):
            provider.get(f"{vault.kv2}/db", {"k"})
        assert counted(vault)["GET kv2/data/db 200"] == 3


def test_a_failure_is_not_kept(vault) -> None:
    with opened(vault) as provider:
        path = f"{vault.kv2}/db"
        assert provider.get(path, {"k"}).data == {}
        vault.put("db", {"k": "v"})
        assert provider.get(path, {"k"}).data == {"k": "v"}


def test_versions_of_a_path_are_kept_apart(vault) -> None:
    vault.put("db", {"k": "one"})
    vault.put("db", {"k": "two"})
    with opened(vault) as provider:
        assert provider.get(f"{vault.kv2}/db?version=1", {"k"}).data == {"k": "one"}
        assert provider.get(f"{vault.kv2}/db", {"k"}).data == {"k": "two"}


def test_providers_share_no_answers(vault) -> None:
    vault.put("db", {"k": "old"})
    sessions, params = ManualSessions(), parameters(vault)
    first, second = provider_of(params, sessions), provider_of(params, sessions)
    with contextlib.closing(first), contextlib.closing(second):
        first.get(f"{vault.kv2}/db", {"k"})
        vault.put("db", {"k": "new"})
        assert second.get(f"{vault.kv2}/db", {"k"}).data == {"k": "new"}


def test_it_is_used_by_its_short_name(vault) -> None:
    vault.put("db", {"k": "v"})
    params = {f"config.providers.v.param.{name}": value for name, value in parameters(vault).items()}
    definition = {"config.providers": "v", "config.providers.v.class": "vault", **params}
    with ProviderRegistry().open(definition) as providers:
        assert isinstance(providers["v"], VaultConfigProvider)
        assert providers["v"].get(f"{vault.kv2}/db", {"k"}).data == {"k": "v"}
    assert vault.live_tokens() == frozenset()


def test_it_is_called_from_a_thread_of_asyncio(vault) -> None:
    configs = references(vault, paths=5, keys=1)

    async def ask(provider: VaultConfigProvider) -> list[ConfigData]:
        paths = [f"{vault.kv2}/apps/db{path}" for path in range(5)]
        return await asyncio.gather(*(asyncio.to_thread(provider.get, path, {"k0"}) for path in paths))

    with opened(vault) as provider:
        found = asyncio.run(ask(provider))
        assert [data.data["k0"] for data in found] == list(configs)
        assert counted(vault)[LOGIN] == 1


def test_nothing_is_read_before_configure() -> None:
    with pytest.raises(ProviderDefinitionError, match="not been configured"):
        VaultConfigProvider().get("secret/db")


def test_a_provider_that_was_not_configured_is_closed() -> None:
    VaultConfigProvider().close()


def test_a_second_close_does_nothing(vault) -> None:
    with opened(vault) as provider:
        provider.get(f"{vault.kv2}/db", {"k"})
        provider.close()
        vault.reset()
    assert seen(vault) == []
