from __future__ import annotations

import pytest

from airflow_config_providers.core.data import ConfigData
from airflow_config_providers.exceptions import ConfigException, ProviderDefinitionError
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
    with pytest.raises(ProviderDefinitionError, match=r"allowlist\.pattern is no regular expression .* at position 3"):
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


def test_nothing_is_read_before_configure() -> None:
    with pytest.raises(ProviderDefinitionError, match="not been configured"):
        EnvVarConfigProvider(ENVIRON).get("")
