from __future__ import annotations

import json
from typing import Any

import pytest
from airflow.models import Connection as StoredConnection
from airflow.sdk import Connection

from airflow_config_providers.exceptions import (
    AccessDeniedError,
    ConfigException,
    ProviderDefinitionError,
    ProviderUnavailableError,
)
from airflow_config_providers.providers import AirflowConnectionConfigProvider
from tests.providers.airflow_process import connection_result

EXTRA = {"role": "reader", "tls": {"ca": "pem", "depth": 1.5}, "list": ["a"], "none": None, "a.b": "dotted"}
CONNECTIONS: dict[str, Any] = {
    "full": Connection(
        conn_id="full",
        conn_type="postgres",
        host="h",
        port=5432,
        schema="s",
        login="u",
        password="p@/",
        extra=json.dumps(EXTRA),
    ),
    "bare": Connection(conn_id="bare", conn_type="http"),
    "empty": Connection(conn_id="empty", conn_type="http", password="", host="", extra=""),
    "odd": Connection(conn_id="odd", conn_type="http", extra="hunter2 is no JSON"),
    "list": Connection(conn_id="list", conn_type="http", extra='["hunter2"]'),
}


class Sealed:
    """A connection that was written with another Fernet key."""

    conn_type = "http"
    extra = None

    @property
    def password(self) -> str:
        raise ValueError("cannot decrypt gAAAAhunter2")


class Reader:
    """Reads from CONNECTIONS, and notes what."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __call__(self, name: str) -> Any:
        self.names.append(name)
        return CONNECTIONS.get(name)


def configured(pattern: str | None = None, read: Any = None) -> AirflowConnectionConfigProvider:
    provider = AirflowConnectionConfigProvider(read or Reader(), has_teams=lambda: False)
    provider.configure({} if pattern is None else {"allowlist.pattern": pattern})
    return provider


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("conn_type", "postgres"),
        ("host", "h"),
        ("port", "5432"),
        ("schema", "s"),
        ("login", "u"),
        ("password", "p@/"),
        ("uri", CONNECTIONS["full"].get_uri()),
        ("extra", json.dumps(EXTRA)),
        ("extra.role", "reader"),
        ("extra.tls", '{"ca":"pem","depth":1.5}'),
        ("extra.tls.ca", "pem"),
        ("extra.list.0", "a"),
        ("extra.a.b", "dotted"),
    ],
)
def test_a_field_is_given(key: str, expected: str) -> None:
    assert configured().get("full", {key}).data == {key: expected}


@pytest.mark.parametrize(
    "key", ["extra.none", "extra.no", "extra.", "description", "conn_id", "get_uri", "", "Password"]
)
def test_what_is_no_field_or_null_is_missing(key: str) -> None:
    assert configured().get("full", {key}).data == {}


def test_what_is_not_set_is_missing() -> None:
    keys = {"host", "port", "schema", "login", "password", "extra", "extra.role", "conn_type"}
    assert configured().get("bare", keys).data == {"conn_type": "http"}


def test_an_empty_field_is_a_value() -> None:
    data = configured().get("empty", {"host", "password", "extra", "login", "extra.x"}).data
    assert data == {"host": "", "password": "", "extra": ""}


def test_an_empty_password_is_missing_in_a_connection_of_airflows_database() -> None:
    stored = StoredConnection(conn_id="stored", conn_type="http", login="", password="")

    assert configured(read=lambda _: stored).get("stored", {"login", "password"}).data == {"login": ""}


def test_a_connection_that_is_absent_has_no_fields() -> None:
    assert configured().get("absent", {"password"}).data == {}
    assert configured().get("absent").data == {}


def test_a_connection_that_is_absent_is_said_to_be() -> None:
    assert configured().get("absent", {"password"}).absence == (
        "There is no connection 'absent'. Create it or correct its id."
    )


def test_all_fields_are_those_that_are_set() -> None:
    data = configured().get("full").data
    plain = {"conn_type", "host", "port", "schema", "login", "password", "uri", "extra"}
    assert set(data) == plain | {"extra.role", "extra.tls", "extra.list", "extra.a.b"}
    assert set(configured().get("bare").data) == {"conn_type", "uri"}
    assert set(configured().get("odd").data) == {"conn_type", "uri", "extra"}


def test_no_keys_are_no_fields() -> None:
    assert configured().get("full", set()).data == {}


def test_one_connection_is_read_once_for_all_its_keys() -> None:
    read = Reader()
    configured(read=read).get("full", {"host", "password", "extra.role"})
    assert read.names == ["full"]


def test_an_extra_is_read_once_for_all_its_names() -> None:
    class Counting:
        conn_id = "full"
        times = 0

        @property
        def extra(self) -> str:
            self.times += 1
            return json.dumps({str(number): "x" for number in range(50)})

    connection = Counting()
    data = configured(read=lambda _: connection).get("full", {f"extra.{number}" for number in range(50)}).data

    assert (len(data), connection.times) == (50, 1)


@pytest.mark.parametrize("name", ["odd", "list"])
def test_a_name_in_an_extra_that_is_no_object_is_an_error_without_the_text(name: str) -> None:
    with pytest.raises(ConfigException, match=f"extra of connection '{name}' is not a JSON object") as caught:
        configured().get(name, {"extra.role"})
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert "hunter2" not in str(caught.value)


def test_a_connection_that_cannot_be_decrypted_is_unavailable() -> None:
    with pytest.raises(
        ProviderUnavailableError, match=r"Airflow could not return connection 'x' \(ValueError\)"
    ) as caught:
        configured(read=lambda _: Sealed()).get("x", {"password"})
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert "hunter2" not in str(caught.value)


def test_a_field_that_is_not_asked_for_is_not_decrypted() -> None:
    assert configured(read=lambda _: Sealed()).get("x", {"conn_type"}).data == {"conn_type": "http"}


def test_an_id_that_is_not_allowed_is_denied_and_nothing_is_asked_for() -> None:
    read = Reader()
    with pytest.raises(AccessDeniedError, match="connection 'full' is not allowed by"):
        configured("bare", read).get("full", {"password"})
    assert read.names == []


def test_a_reference_without_an_id_is_an_error() -> None:
    with pytest.raises(ConfigException, match="needs its id as the path"):
        configured().get("", {"password"})


def test_nothing_is_read_before_configure() -> None:
    with pytest.raises(ProviderDefinitionError, match="not been configured"):
        AirflowConnectionConfigProvider().get("full", {"x"})


def test_a_task_reads_through_the_task_sdk(in_task) -> None:
    in_task({"db": connection_result("db", password="pw", extra='{"a": "x"}')})
    provider = AirflowConnectionConfigProvider()
    provider.configure({"allowlist.pattern": "db"})
    assert provider.get("db", {"password", "extra.a"}).data == {"password": "pw", "extra.a": "x"}


def test_check_reads_nothing(in_task) -> None:
    supervisor = in_task()
    AirflowConnectionConfigProvider().check()
    assert supervisor.asked == []
