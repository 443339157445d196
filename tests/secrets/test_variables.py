"""Variables and settings from files, with references in them."""

from __future__ import annotations

import json

import pytest
from airflow.secrets.local_filesystem import LocalFilesystemBackend

from airflow_config_providers.airflow_compat import AirflowSecretsBackendAccessDenied

QUOTED = 'a "quoted" \\ value, "admin": true'


@pytest.fixture
def secret(shelf):
    shelf.book.data = {"api": {"key": "k3y-value", "quoted": QUOTED, "port": "8080", "empty": ""}}
    return shelf


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        pytest.param("${book:api:key}", "k3y-value", id="whole"),
        pytest.param("Bearer ${book:api:key}!", "Bearer k3y-value!", id="part"),
        pytest.param("${book:api:key}:${other:api:port}", "k3y-value:8080", id="two-providers"),
        pytest.param("${book:api:quoted}", QUOTED, id="quotes-in-a-text"),
        pytest.param("${book:api:empty}", "", id="empty"),
        pytest.param("plain", "plain", id="plain"),
        pytest.param("", "", id="plain-empty"),
        pytest.param("{{ ds }} ${book:api:key}", "{{ ds }} k3y-value", id="a-template"),
        pytest.param("{not json ${book:api:key}", "{not json k3y-value", id="a-brace"),
        pytest.param("${HOME} $x ${", "${HOME} $x ${", id="no-reference"),
        pytest.param('{"a": 1.10, "b": [1e5]} ', '{"a": 1.10, "b": [1e5]} ', id="plain-json-as-it-is-written"),
        pytest.param(17, "17", id="number"),
        pytest.param(True, "true", id="boolean"),
    ],
)
def test_a_text_is_given_with_its_references_replaced(secret, definition, expected):
    assert secret.backend(variables={"v": definition}).get_variable("v") == expected


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ({"key": "${book:api:quoted}", "list": ["${book:api:key}", 1]}, {"key": QUOTED, "list": ["k3y-value", 1]}),
        ('{"key": "${book:api:quoted}", "n": 1.10}', {"key": QUOTED, "n": 1.10}),
        ('"${book:api:quoted}"', QUOTED),
        (["${book:api:quoted}"], [QUOTED]),
    ],
    ids=["mapping", "text", "string", "list"],
)
def test_json_stays_the_json_that_it_was(secret, definition, expected):
    assert json.loads(secret.backend(variables={"v": definition}).get_variable("v")) == expected


def test_numbers_in_a_json_text_stay_as_they_are_written(secret):
    text = '{"key":"${book:api:key}","n":[1.10,1e5,-0,123456789012345678901234567890]}'

    assert secret.backend(variables={"v": text}).get_variable("v") == text.replace("${book:api:key}", "k3y-value")


@pytest.mark.parametrize(
    "text", ['{"port": ${book:api:port}}', '{"a": NaN, "b": "${book:api:key}"}', "[${book:api:port}]"]
)
def test_json_that_a_value_could_change_is_refused(secret, text):
    with pytest.raises(AirflowSecretsBackendAccessDenied, match="Put each reference in quotes"):
        secret.backend(variables={"v": text}).get_variable("v")


@pytest.mark.parametrize("ending", ["yaml", "json", "env"])
def test_what_has_no_reference_is_what_airflows_own_backend_gives(shelf, ending):
    content = "a=x=y\nb=  \n" if ending == "env" else {"a": "x=y", "b": "  "}
    path = shelf.write(f"variables.{ending}", content)
    theirs, ours = LocalFilesystemBackend(variables_file_path=path), shelf.backend(variables_file_path=path)

    assert [ours.get_variable(name) for name in "abc"] == [theirs.get_variable(name) for name in "abc"]


def test_null_is_no_value(shelf):
    assert shelf.backend(variables={"v": None}).get_variable("v") is None


def test_a_setting_is_given_with_its_references_replaced(secret):
    path = secret.write("settings.env", "sql_alchemy_conn=postgresql://u:${book:api:key}@h/db\n")
    backend = secret.backend(configs_file_path=path)

    assert backend.get_config("sql_alchemy_conn") == "postgresql://u:k3y-value@h/db"
    assert backend.get_config("fernet_key") is None


def test_airflow_reads_a_setting_through_the_backend(secret, configure, monkeypatch):
    from airflow.configuration import conf

    path = secret.write("settings.env", "fernet=${book:api:key}\n")
    configure(secret.settings(configs_file_path=path))
    monkeypatch.delenv("AIRFLOW__CORE__FERNET_KEY", raising=False)
    monkeypatch.setenv("AIRFLOW__CORE__FERNET_KEY_SECRET", "fernet")

    assert conf.get("core", "fernet_key") == "k3y-value"


def test_kinds_are_kept_apart(secret):
    backend = secret.backend(variables={"v": "x"})

    assert (backend.get_connection("v"), backend.get_config("v")) == (None, None)
