from __future__ import annotations

import os

import pytest

from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.core.process_environment import lacking
from airflow_config_providers.core.provider import ConfigData
from airflow_config_providers.core.resolver import ConfigResolver, Unresolved
from airflow_config_providers.core.transformer import ConfigTransformer
from airflow_config_providers.exceptions import (
    AccessDeniedError,
    ConfigException,
    ProviderDefinitionError,
    UnresolvedReferenceError,
)
from airflow_config_providers.providers.env import EnvVarConfigProvider

ENVIRON = {
    "DB_USER": "airflow",
    "DB_PASSWORD": "hunter2",
    "EMPTY": "",
    "AWS_REGION": "eu",
    "AWS_SECRET_ACCESS_KEY": "k",
}


def configured(pattern: str | None = None) -> EnvVarConfigProvider:
    provider = EnvVarConfigProvider(ENVIRON)
    provider.configure({} if pattern is None else {"allowlist.pattern": pattern})
    return provider


def test_variables_that_are_hidden_from_a_child_meanwhile_are_given() -> None:
    """A job that begins while another is killed reads them, and has to know that they exist, to withhold them."""
    environ = dict(ENVIRON)
    provider = EnvVarConfigProvider(environ)
    with lacking(environ, {"DB_PASSWORD"}):
        provider.configure({})
        names = provider.environment_names({"allowlist.pattern": "DB_P.*"})

    assert provider.get("", {"DB_PASSWORD"}).data == {"DB_PASSWORD": "hunter2"}
    assert names == {"DB_PASSWORD"}


def test_variables_are_given() -> None:
    assert configured().get("") == ConfigData({"DB_USER": "airflow", "DB_PASSWORD": "hunter2", "EMPTY": ""}, ttl=None)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        pytest.param({"DB_USER", "EMPTY"}, {"DB_USER": "airflow", "EMPTY": ""}, id="some"),
        pytest.param({"DB_USER", "NO"}, {"DB_USER": "airflow"}, id="one is missing"),
        pytest.param({"db_user"}, {}, id="names are exact"),
        pytest.param(set(), {}, id="none"),
    ],
)
def test_the_keys_named_are_given(keys: set[str], expected: object) -> None:
    assert configured().get("", keys).data == expected


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        pytest.param("DB_.*", {"DB_USER", "DB_PASSWORD"}, id="prefix"),
        pytest.param("DB", set(), id="the whole name must match"),
        pytest.param("DB_USER|EMPTY", {"DB_USER", "EMPTY"}, id="alternatives"),
        pytest.param("", set(), id="an empty pattern allows nothing"),
        pytest.param("AWS_.*", set(), id="a pattern does not reach sensitive names"),
        pytest.param("DB_USER|AWS_REGION", {"DB_USER", "AWS_REGION"}, id="a sensitive name can be named"),
        pytest.param("AWS_(REGION|SECRET_ACCESS_KEY)", set(), id="a sensitive name must be named in full"),
    ],
)
def test_the_pattern_decides(pattern: str, names: set[str]) -> None:
    assert set(configured(pattern).get("").data) == names


def test_a_pattern_that_is_none_is_refused() -> None:
    problem = r"allowlist\.pattern is not a regular expression .* at position 3"
    with pytest.raises(ProviderDefinitionError, match=problem):
        configured("DB_(")


def test_the_environment_is_copied_when_configured() -> None:
    environ = {"A": "before"}
    provider = EnvVarConfigProvider(environ)
    provider.configure({})
    environ["A"] = "after"
    assert provider.get("").data == {"A": "before"}


def test_the_process_s_environment_is_read_when_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    provider = EnvVarConfigProvider()
    monkeypatch.setenv("DB_HOST", "db")
    provider.configure({"allowlist.pattern": "DB_HOST"})
    assert provider.get("").data == {"DB_HOST": "db"}


def test_a_path_is_an_error() -> None:
    with pytest.raises(ConfigException, match="have no path, but the reference has db"):
        configured().get("db", {"DB_USER"})


def test_a_subscription_with_a_path_is_an_error() -> None:
    with pytest.raises(ConfigException, match="have no path, but the reference has db"):
        configured().subscribe("db", {"DB_USER"}, lambda *_: None)


def test_a_reference_with_a_default_as_in_a_shell_is_told_that_there_are_none() -> None:
    with pytest.raises(ConfigException, match="has no defaults"):
        configured().get("DB_USER", {"-root"})


def test_a_definition_refuses_a_name_that_its_pattern_does_not_allow() -> None:
    provider, configs = EnvVarConfigProvider(), {"allowlist.pattern": "DB_.*"}

    with pytest.raises(AccessDeniedError, match="the environment variable EMPTY"):
        provider.require_allowed(configs, "", {"DB_USER", "EMPTY"})


def test_a_definition_takes_names_that_its_pattern_allows_and_no_path() -> None:
    provider, configs = EnvVarConfigProvider(), {"allowlist.pattern": "DB_.*"}

    provider.require_allowed(configs, "", {"DB_USER", "DB_HOST"})
    with pytest.raises(ConfigException, match="have no path"):
        provider.require_allowed(configs, "db", {"DB_USER"})


def test_nothing_is_read_before_configure() -> None:
    with pytest.raises(ProviderDefinitionError, match="not been configured"):
        EnvVarConfigProvider(ENVIRON).get("")


def test_the_names_that_it_may_give_are_told() -> None:
    names = EnvVarConfigProvider(ENVIRON).environment_names({"allowlist.pattern": "DB_.*|AWS_REGION|ABSENT"})

    assert set(names) == {"DB_USER", "DB_PASSWORD", "AWS_REGION"}


def resolve(provider: EnvVarConfigProvider, unresolved: Unresolved = Unresolved.FAIL, **configs: str) -> dict[str, str]:
    layer = ConfigLayer(ConfigSource.DAG_CONFIG, "conf", configs)
    return ConfigResolver({"env": provider}, unresolved=unresolved).resolve([layer]).configs()


@pytest.mark.parametrize(
    "name",
    [
        "SPARK_CONNECT_AUTHENTICATE_TOKEN",
        "SPARK_REMOTE",
        "AIRFLOW_CLI_TOKEN",
        "CLOUDSDK_AUTH_ACCESS_TOKEN",
        "IDENTITY_HEADER",
        "MSI_SECRET",
        "ARM_CLIENT_SECRET",
        "DATABRICKS_TOKEN",
        "HADOOP_CREDSTORE_PASSWORD",
        "HADOOP_KEYSTORE_PASSWORD",
        "OSS_ACCESS_KEY_SECRET",
        "ALIBABA_CLOUD_ACCESS_KEY_SECRET",
    ],
)
def test_what_clients_sign_in_with_is_given_only_by_its_full_name(name: str) -> None:
    provider = EnvVarConfigProvider({name: "x"})

    provider.configure({"allowlist.pattern": ".*"})
    assert provider.get("").data == {}

    provider.configure({"allowlist.pattern": f"A|{name}"})
    assert provider.get("").data == {name: "x"}


@pytest.mark.parametrize(
    ("name", "way"),
    [
        pytest.param("DB_USER", "ask the deployment owner to allow it.", id="set"),
        pytest.param("NOWHERE", "ask the deployment owner to allow it.", id="not set, which is not told"),
        pytest.param(
            "AWS_REGION",
            "ask the deployment owner to add its full name to the pattern, as in A_.*|THE_FULL_NAME.",
            id="sensitive",
        ),
    ],
)
def test_a_name_that_the_pattern_does_not_allow_is_denied(name: str, way: str) -> None:
    with pytest.raises(AccessDeniedError) as caught:
        resolve(configured("APP_.*|AWS_.*"), x=f"${{env:{name}}}")

    (problem,) = caught.value.problems
    assert f"${{env:{name}}} is denied. allowlist.pattern of the provider does not allow" in problem
    assert f"the environment variable {name}. Correct the reference, or {way}" in problem


def test_a_name_that_is_allowed_and_not_set_is_missing() -> None:
    with pytest.raises(UnresolvedReferenceError, match="env:DB_HOST} has no value"):
        resolve(configured("DB_.*"), x="${env:DB_HOST}", y="${env:DB_USER}")


@pytest.mark.parametrize(
    ("others", "end"),
    [
        pytest.param({}, ".", id="alone"),
        pytest.param({"y": "${env:DB_USER}"}, ", did you mean 'DB_USER'?", id="beside another"),
    ],
)
def test_the_error_of_a_variable_that_is_not_set_names_the_machine_without_it(others: dict[str, str], end: str) -> None:
    with pytest.raises(UnresolvedReferenceError) as caught:
        resolve(configured("DB_.*"), x="${env:DB_USR}", **others)

    where = f"The process that reads it, on {os.uname().nodename}, has no such environment variable. Set it there"
    assert f"${{env:DB_USR}} has no value{end} {where}" in str(caught.value)


def test_what_is_denied_is_told_beside_what_is_missing() -> None:
    with pytest.raises(AccessDeniedError) as caught:
        resolve(configured("DB_.*"), x="${env:DB_HOST}", y="${env:EMPTY}", z="${env:DB_USER}")

    missing, denied = caught.value.problems
    assert "x (" in missing
    assert "DB_HOST" in missing
    assert "y (" in denied
    assert "is denied" in denied


def test_a_name_that_the_pattern_does_not_allow_is_filtered_as_in_kafka() -> None:
    """Whoever calls the provider itself, or a transformer, gets what Kafka gives: nothing."""
    provider = configured("DB_.*")
    text = "${env:EMPTY} ${env:DB_USER}"

    assert provider.get("", {"EMPTY", "DB_USER"}) == ConfigData({"DB_USER": "airflow"})
    assert ConfigTransformer({"env": provider}).transform({"x": text}).data == {"x": "${env:EMPTY} airflow"}
    assert resolve(provider, Unresolved.KEEP, x=text) == {"x": "${env:EMPTY} airflow"}
