"""Connections from files: read as Airflow's local backend reads them, with references anywhere in them."""

from __future__ import annotations

import json

import pytest
from airflow.models import Connection as ServerConnection
from airflow.sdk import Connection as TaskConnection
from airflow.secrets.local_filesystem import LocalFilesystemBackend
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_config_providers.airflow_compat import AirflowSecretsBackendAccessDenied
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.secrets.entry_shapes import connection_shape

AWKWARD = "p@/:%?#[]&=+ \"'\\{}$ü\n${book:db:other}"
FIELDS = ("conn_type", "host", "login", "password", "schema", "port", "description", "extra_dejson")


def fields(connection):
    return {name: getattr(connection, name) for name in FIELDS}


@pytest.fixture
def secret(shelf):
    shelf.book.data = {"db": {"password": AWKWARD, "port": "5433", "host": "db.example", "other": "unseen"}}
    return shelf


@pytest.mark.parametrize(
    "definition",
    [
        pytest.param("postgres://u:${book:db:password}@h/s", id="uri"),
        pytest.param("postgres://u:%24%7Bbook%3Adb%3Apassword%7D@h/s", id="percent-encoded"),
        pytest.param(
            {"conn_type": "postgres", "login": "u", "password": "${book:db:password}", "host": "h"}, id="fields"
        ),
        pytest.param('{"conn_type": "postgres", "password": "${book:db:password}", "host": "h"}', id="json"),
        pytest.param({"uri": "postgres://u:${book:db:password}@h/s", "description": "d"}, id="uri-as-field"),
    ],
)
def test_a_reference_as_the_password_is_replaced_by_exactly_the_value(secret, definition):
    connection = secret.backend({"db": definition}).get_connection("db")

    assert (connection.password, connection.host) == (AWKWARD, "h")


@pytest.mark.parametrize(
    ("uri", "field", "expected"),
    [
        ("mysql://${book:db:password}:x@h/s", "login", AWKWARD),
        ("mysql://u:x@${book:db:host}:3306/s", "host", "db.example"),
        ("mysql://u:x@${book:db:host}:${book:db:port}/s", "port", 5433),
        ("mysql://u:x@h:${book:db:port}", "port", 5433),
        ("mysql://u:x@[::1]:${book:db:port}/s", "port", 5433),
        ("mysql://h:${book:db:port}?a=b", "port", 5433),
        ("mysql://u:a:${book:db:port}@h/s", "password", "a:5433"),
        ("mysql://u:x@h/${book:db:password}", "schema", AWKWARD),
        ("mysql://u:x@h/s?a=${book:db:password}&b=1", "extra_dejson", {"a": AWKWARD, "b": 1}),
        ('mysql://u:x@h/s?a={"b":["${book:db:password}"]}', "extra_dejson", {"a": {"b": [AWKWARD]}}),
        ('mysql://u:x@h/s?__extra__={"a":{"b":"${book:db:password}"}}', "extra_dejson", {"a": {"b": AWKWARD}}),
        ("http://https://${book:db:host}:${book:db:port}/s", "host", "https://db.example"),
        ("http://https://${book:db:host}:${book:db:port}/s", "port", 5433),
        ("mysql://u:before-${book:db:port}-after@h", "password", "before-5433-after"),
    ],
)
def test_a_reference_may_stand_anywhere_in_a_uri(secret, uri, field, expected):
    connection = secret.backend({"db": uri}).get_connection("db")

    assert getattr(connection, field) == expected


@pytest.mark.parametrize(
    "extra",
    [
        {"token": "${book:db:password}", "deep": {"list": [1, "${book:db:password}"]}},
        json.dumps({"token": "${book:db:password}", "deep": {"list": [1, "${book:db:password}"]}}),
    ],
    ids=["mapping", "text"],
)
@pytest.mark.parametrize("name", ["extra", "extra_dejson"])
def test_a_reference_may_stand_deep_in_the_extra(secret, extra, name):
    if name == "extra_dejson" and isinstance(extra, str):
        extra = json.loads(extra)
    connection = secret.backend({"db": {"conn_type": "http", name: extra}}).get_connection("db")

    assert connection.extra_dejson == {"token": AWKWARD, "deep": {"list": [1, AWKWARD]}}


@pytest.mark.parametrize("kind", [ServerConnection, TaskConnection])
def test_the_connection_is_of_the_class_that_airflow_has_set(secret, kind):
    backend = secret.backend({"db": "mysql://u:${book:db:password}@h"})
    backend._set_connection_class(kind)

    connection = backend.get_connection("db")

    assert type(connection) is kind
    assert (connection.conn_id, connection.password) == ("db", AWKWARD)


def test_the_text_of_a_connection_survives_the_way_that_airflow_takes(secret):
    """The DAG processor keeps URIs and makes connections of them again."""
    backend = secret.backend({"db": "mysql://u:${book:db:password}@h:1/s?a=${book:db:port}"})
    backend._set_connection_class(TaskConnection)

    again = TaskConnection.from_uri(backend.get_connection("db").get_uri(), conn_id="db")

    assert (again.password, again.extra_dejson) == (AWKWARD, {"a": "5433"})


def test_only_what_is_asked_for_is_resolved(secret):
    backend = secret.backend({"db": "mysql://u:${book:db:password}@h", "lake": "aws://${book:lake:key}@"})

    backend.get_connection("db")

    assert secret.book.calls == [("db", frozenset({"password"}))]


def test_what_has_no_reference_opens_no_provider(secret):
    backend = secret.backend({"db": "mysql://u:p@h"})

    assert backend.get_connection("db").password == "p"
    assert secret.book.opened == []


def test_a_name_that_is_in_no_file_opens_no_provider(secret):
    assert secret.backend({"db": "mysql://u:${book:db:password}@h"}).get_connection("lake") is None
    assert secret.book.opened == []


def test_an_empty_value_is_a_value(secret):
    secret.book.data["db"]["password"] = ""
    backend = secret.backend({"db": "mysql://u:${book:db:password}@h"})
    backend._set_connection_class(TaskConnection)  # the servers' class takes an empty password for none

    assert backend.get_connection("db").password == ""


PLAIN = {
    "uri": "mysql://u%40x:p%2Fq@h:3306/s?charset=utf8&verify=false&n=1&empty=&text=%22x%22",
    "uri-extra": "aws://?__extra__=%7B%22a%22%3A+%7B%22b%22%3A+1%7D%7D",
    "uri-host": "google-cloud-platform://https://h.example:8080/a%2Fb",
    "fields": {"conn_type": "http", "host": "h", "port": 1, "extra": {"a": [1, 2.5, None, True, {"b": "c"}]}},
    "extra-text": {"conn_type": "http", "description": "d", "schema": "s", "extra": '{"a": 1.10, "b": "c"}'},
    "own-name": {"conn_id": "own-name", "conn_type": "http", "extra_dejson": {"a": "b"}},
    "type": {"conn_type": "google_cloud_platform"},
    "nothing": {},
}


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("ending", ["yaml", "yml", "json"])
def test_what_has_no_reference_is_what_airflows_own_backend_makes_of_it(shelf, name, ending):
    path = shelf.write(f"connections.{ending}", PLAIN)
    theirs = LocalFilesystemBackend(connections_file_path=path).get_connection(name)
    ours = shelf.backend(connections_file_path=path).get_connection(name)

    assert {**fields(ours), "conn_type": ours.conn_type} == {**fields(theirs), "conn_type": theirs.conn_type}


@pytest.mark.parametrize(
    "definition", [["mysql://u:p@h"], [{"conn_type": "mysql", "login": "u"}]], ids=["uri", "fields"]
)
def test_a_list_of_one_is_what_airflows_own_backend_makes_of_it(shelf, definition):
    path = shelf.write("connections.yaml", {"db": definition})
    theirs = LocalFilesystemBackend(connections_file_path=path).get_connection("db")

    assert fields(shelf.backend(connections_file_path=path).get_connection("db")) == fields(theirs)


def test_env_files_are_read_as_airflow_does(secret):
    path = secret.write("connections.env", "# a comment\n\ndb=mysql://u:${book:db:password}@h?a=b=c\n")

    connection = secret.backend(connections_file_path=path).get_connection("db")

    assert (connection.password, connection.extra_dejson) == (AWKWARD, {"a": "b=c"})


@settings(max_examples=40)  # Airflow writes a traceback for each text that is no JSON
@given(
    parts=st.fixed_dictionaries({name: st.text(min_size=1, max_size=12) for name in ("login", "password", "schema")}),
    query=st.dictionaries(st.text("abc", min_size=1, max_size=3), st.text(max_size=8), max_size=3),
)
def test_any_uri_of_airflow_is_read_as_airflow_reads_it(parts, query):
    uri = ServerConnection(conn_type="mysql", host="h.example", port=1, extra=json.dumps(query), **parts).get_uri()
    theirs = ServerConnection(uri=uri)
    shape = connection_shape("db", uri)
    ours = ServerConnection.from_json(shape.written(shape.content), conn_id="db")

    assert fields(ours) == {**fields(theirs), "conn_type": "mysql"}


WRONG = {
    "field": ({"conn_type": "x", "pasword": "p"}, "'pasword' is not a field, did you mean 'password'?"),
    "uri-and-fields": ({"uri": "mysql://h", "host": "h"}, "has both a URI and fields"),
    "two-extras": ({"conn_type": "x", "extra": {}, "extra_dejson": {}}, "has both extra and extra_dejson"),
    "other-name": ({"conn_type": "x", "conn_id": "lake"}, "conn_id is 'lake'"),
    "list": ([["mysql://h"]], "is list"),
    "number": (1, "is int"),
    "password": ({"conn_type": "x", "password": ["a"]}, "password is list"),
    "boolean": ({"conn_type": "x", "login": True}, "login is bool"),
    "extra": ({"conn_type": "x", "extra": "[1]"}, "extra is not a JSON object"),
    "extra-text": ({"conn_type": "x", "extra": "{"}, "is not valid JSON"),
    "port": ({"conn_type": "x", "port": "many"}, "port is not a number"),
    "port-of-a-uri": ("mysql://h:many/s", "Airflow cannot read its URI"),
    "three-schemes": ("a://b://c://d", "Airflow cannot read its URI"),
    "no-type": ("${book:db:host}:5432/s", "does not begin with the connection's type, as in postgresql://"),
    "no-slashes": ("mysql:u:${book:db:password}@h", "does not begin with the connection's type"),
    "name": ({"conn_type": "x", "extra": {"${book:db:a}": 1}}, "contains a reference"),
    "name-in-a-uri": ("mysql://h?${book:db:a}=1", "contains a reference"),
    "deep-in-a-uri": (f"mysql://h?a={'[' * 100}{']' * 100}", "nested too deeply"),
    "deep": ({"conn_type": "x", "extra": "[" * 100_000 + "]" * 100_000}, "nested too deep"),
    "whole": ("${book:db:uri}", "The whole URI is a single reference"),
    "whole-extra": ({"conn_type": "x", "extra": "${book:db:extra}"}, "is not valid JSON"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_definition_that_is_wrong_is_called_so_and_not_unavailable(shelf, name):
    backend = shelf.backend({"db": WRONG[name][0]})

    with pytest.raises(AirflowSecretsBackendAccessDenied, match=r"^connection db is defined wrongly\. "):
        backend.get_connection("db")


@pytest.mark.parametrize("name", WRONG)
def test_a_definition_that_is_wrong_is_unavailable_and_says_why(shelf, name):
    definition, message = WRONG[name]
    backend = shelf.backend({"db": definition})

    with pytest.raises(AirflowSecretsBackendAccessDenied, match=message):
        backend.get_connection("db")


def test_one_that_is_wrong_does_not_take_the_others_with_it(shelf):
    backend = shelf.backend({"db": {"pasword": "p"}, "lake": "aws://h"})

    assert backend.get_connection("lake").host == "h"


@pytest.mark.parametrize("value", ["5432x", "", "-54321", "99999999", "\u0665"], ids=ascii)
def test_a_value_that_is_no_port_is_told_without_the_value(shelf, value):
    shelf.book.data = {"db": {"port": value}}
    backend = shelf.backend({"db": {"conn_type": "x", "host": "h", "port": "${book:db:port}"}})
    if value == "":
        assert backend.get_connection("db").port is None
        return

    with pytest.raises(AirflowSecretsBackendAccessDenied, match="port is not a number") as caught:
        backend.get_connection("db")
    assert value not in str(caught.value)


def test_settings_that_exclude_each_other_are_refused_at_once(shelf):
    with pytest.raises(ConfigException, match="providers_file and conn_id"):
        shelf.backend(providers_file="/x", conn_id="y")


def test_definitions_in_the_place_of_their_file_are_not_shown(shelf):
    with pytest.raises(ConfigException, match="providers_file in backend_kwargs holds definitions") as caught:
        shelf.backend(providers_file="config.providers.v.param.token=c4nary")
    assert "c4nary" not in str(caught.value)


def test_a_connection_in_the_place_of_its_file_is_not_shown(shelf):
    backend = shelf.backend(connections_file_path="mysql://u:c4nary@h")

    with pytest.raises(AirflowSecretsBackendAccessDenied, match="cannot be read: there is no such file") as caught:
        backend.get_connection("db")
    assert "c4nary" not in str(caught.value)


def test_every_unknown_parameter_is_refused_at_once_with_the_nearest_name(shelf):
    with pytest.raises(ConfigException) as caught:
        shelf.backend(connections_file_pat="/x", color="y")

    first, second = caught.value.problems
    assert "no parameter 'connections_file_pat', did you mean 'connections_file_path'?" in first
    assert "no parameter 'color'. Correct its name in [secrets] backend_kwargs" in second


@pytest.mark.parametrize("providers", ["[1]", "{", "[" * 5000, {"config.providers": ["a"]}])
def test_definitions_that_are_no_texts_are_refused_at_once(shelf, providers):
    with pytest.raises(ConfigException, match="not a JSON object with string values"):
        shelf.backend(providers=providers)


def test_definitions_may_be_a_json_text(secret):
    """As an environment variable has them."""
    backend = secret.backend({"db": "mysql://u:${book:db:password}@h"}, providers=json.dumps(secret.providers))

    assert backend.get_connection("db").password == AWKWARD


def test_references_without_providers_are_unavailable(shelf):
    backend = shelf.backend({"db": "mysql://u:${book:db:password}@h"}, providers=None)

    with pytest.raises(AirflowSecretsBackendAccessDenied, match=r"no provider\. Add providers_file"):
        backend.get_connection("db")
