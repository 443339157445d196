"""A connection to Spark Connect that holds references."""

from __future__ import annotations

import json
import os
from urllib.parse import unquote

import pytest

from airflow_config_providers.airflow_compat import BaseHook, Connection
from airflow_config_providers.exceptions import ConfigException, UndeliverableValueError, UnresolvedReferenceError
from airflow_config_providers.hooks.spark_connect import ConfiguredSparkConnectHook
from tests.canary import CANARY


@pytest.fixture
def token(tmp_path, monkeypatch):
    """A reference to the canary, in the connection's token."""
    (tmp_path / "token").write_text(CANARY)
    extra = {
        "config.providers": "dir",
        "config.providers.dir.class": "directory",
        "config.providers.dir.param.allowed.paths": str(tmp_path),
    }
    monkeypatch.setenv(
        "AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT", json.dumps({"conn_type": "config_providers", "extra": extra})
    )
    reference = f"${{dir:{tmp_path}:token}}"
    connect(monkeypatch, password=reference)
    return reference


def connect(monkeypatch, **fields):
    fields = {"conn_type": "spark_connect", "host": "spark", "port": 15002, "extra": {"use_ssl": "true"}, **fields}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_CONNECT_DEFAULT", json.dumps(fields))


def test_the_url_has_the_value(token):
    with ConfiguredSparkConnectHook() as hook:
        url = hook.get_connection_url()

    assert unquote(url) == f"sc://spark:15002/;token={CANARY};use_ssl=true"


def test_a_provider_that_is_not_referred_to_may_be_defined_wrongly(token, monkeypatch):
    connection = json.loads(os.environ["AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT"])
    connection["extra"] |= {"config.providers": "broken, dir", "config.providers.broken.class": "vault"}
    monkeypatch.setenv("AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT", json.dumps(connection))

    assert CANARY in unquote(ConfiguredSparkConnectHook().get_connection_url())


def test_spark_takes_the_url_also_with_a_slash_in_the_token(token):
    from pyspark.sql.connect.client import DefaultChannelBuilder

    with ConfiguredSparkConnectHook() as hook:
        builder = DefaultChannelBuilder(hook.get_connection_url())

    assert builder.token == CANARY


def test_attack_19_what_is_raised_meanwhile_shows_the_reference(token):
    with pytest.raises(ValueError, match="cannot connect") as caught, ConfiguredSparkConnectHook() as hook:
        raise ValueError(f"cannot connect with {CANARY} to {hook.get_connection_url()}")

    assert f"with {token}" in str(caught.value)
    assert CANARY not in unquote(str(caught.value))


@pytest.mark.parametrize("is_reference", [True, False])
def test_attack_19_half_of_a_surrogate_pair_is_refused_and_not_shown(tmp_path, monkeypatch, is_reference):
    (tmp_path / "p.properties").write_text(f"k={CANARY}\\ud800\n")
    extra = {"config.providers": "files", "config.providers.files.class": "file"}
    extra["config.providers.files.param.allowed.paths"] = str(tmp_path)
    password = f"${{files:{tmp_path}/p.properties:k}}" if is_reference else f"{CANARY}\ud800"
    known = {
        "config_providers_default": Connection(conn_id="config_providers_default", extra=json.dumps(extra)),
        "spark_connect_default": Connection(conn_id="spark_connect_default", host="spark", password=password),
    }
    monkeypatch.setattr(BaseHook, "get_connection", known.get)

    with pytest.raises(UndeliverableValueError, match=r"^password: its value contains half of a") as caught:
        ConfiguredSparkConnectHook().get_connection_url()

    assert CANARY not in repr([caught.value, caught.value.__cause__, caught.value.__context__])


def test_an_extra_that_is_nested_too_deep_is_refused(token, monkeypatch):
    deep = Connection(conn_id="spark_connect_default", extra="[" * 5000 + "]" * 5000)
    monkeypatch.setattr(BaseHook, "get_connection", lambda conn_id: deep)

    with pytest.raises(ConfigException, match="The extra of connection 'spark_connect_default' is nested too deeply"):
        ConfiguredSparkConnectHook().get_connection_url()


def test_it_works_without_being_entered(token):
    assert CANARY in unquote(ConfiguredSparkConnectHook().get_connection_url())


def test_what_is_printed_meanwhile_shows_the_reference(token, capsys):
    with ConfiguredSparkConnectHook() as hook:
        print("connecting to", hook.get_connection_url())
        print("token", CANARY)
    shown = capsys.readouterr().out

    assert f"token {token}" in shown
    assert CANARY not in unquote(shown)


def test_a_connection_without_references_needs_no_providers(monkeypatch):
    monkeypatch.delenv("AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT", raising=False)
    connect(monkeypatch, password="plain")

    assert ConfiguredSparkConnectHook().get_connection_url() == "sc://spark:15002/;token=plain;use_ssl=true"


def test_attack_12_a_value_is_not_read_as_json(token, monkeypatch, tmp_path):
    (tmp_path / "token").write_text('x", "use_ssl": "false')
    connect(monkeypatch, extra={"use_ssl": "true", "note": token})

    with ConfiguredSparkConnectHook() as hook:
        connection = hook.get_connection("spark_connect_default")
    assert connection.extra_dejson == {"use_ssl": "true", "note": 'x", "use_ssl": "false'}


def test_a_reference_that_nobody_answers_is_an_error(token, monkeypatch):
    connect(monkeypatch, password=token.replace(":token", ":nothing"))

    with pytest.raises(UnresolvedReferenceError, match="password"):
        ConfiguredSparkConnectHook().get_connection_url()


def test_while_it_is_entered_references_are_resolved_once(token, tmp_path):
    with ConfiguredSparkConnectHook() as hook:
        url = hook.get_connection_url()
        (tmp_path / "token").write_text("another")

        assert hook.get_connection_url() == url

    assert "another" in hook.get_connection_url()
