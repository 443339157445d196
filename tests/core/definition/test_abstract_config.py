"""A configuration resolves its references, parses its values, and shows no value that came from one."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from secrets import token_hex
from typing import Any

import pytest

from airflow_config_providers.core.definition.abstract_config import AbstractConfig
from airflow_config_providers.core.definition.config_def import ConfigDef
from airflow_config_providers.core.definition.config_type import ConfigType
from airflow_config_providers.core.registry import ProviderRegistry
from airflow_config_providers.core.sensitive import Password
from airflow_config_providers.exceptions import AccessDeniedError, ConfigException, ProviderDefinitionError
from airflow_config_providers.testing import InMemoryConfigProvider

INT, STRING, PASSWORD = ConfigType.INT, ConfigType.STRING, ConfigType.PASSWORD
SECRET = token_hex()
VAULT = {"config.providers": "vault", "config.providers.vault.class": "memory"}


class Vaults:
    """Makes providers for a registry and remembers them."""

    def __init__(self, error: Exception | None = None, **data: str) -> None:
        self.made: list[InMemoryConfigProvider] = []
        self.registry = ProviderRegistry({"memory": self})
        self._data = {"db": {"password": SECRET, "port": "5432", **data}}
        self._error = error

    def __call__(self) -> InMemoryConfigProvider:
        self.made.append(InMemoryConfigProvider(self._data, error=self._error))
        return self.made[-1]


class HostConfig(AbstractConfig):
    """Puts a URL together from what was configured."""

    def post_process_parsed_config(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"url": f"db://{values['password'].value}@{values['host']}"}


class TextPortConfig(AbstractConfig):
    def post_process_parsed_config(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"port": "8"}


class BadPortConfig(AbstractConfig):
    def post_process_parsed_config(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"port": "no number"}


def database() -> ConfigDef:
    return ConfigDef().define("host", STRING, "local").define("port", INT, 1).define("password", PASSWORD, None)


def config(originals: Mapping[str, Any], **options: Any) -> AbstractConfig:
    return AbstractConfig(database(), originals, registry=Vaults().registry, **options)


def prefixed(**more: Any) -> AbstractConfig:
    return config({"port": "2", "new.port": "3", "new.eu.host": " eu ", "new.other": "x", "new.": "y", **more})


# resolution


def test_references_are_resolved_before_parsing() -> None:
    resolved = config({**VAULT, "port": "${vault:db:port}", "password": "${vault:db:password}"})

    assert (resolved.get("port"), resolved.get("password")) == (5432, Password(SECRET))


def test_originals_have_references_resolved() -> None:
    assert config({**VAULT, "x": "a-${vault:db:port}"}).originals()["x"] == "a-5432"


def test_originals_given_are_left_alone() -> None:
    originals = {**VAULT, "port": "${vault:db:port}"}
    config(originals)

    assert originals == {**VAULT, "port": "${vault:db:port}"}


def test_reference_that_nobody_answers_stays() -> None:
    assert config({**VAULT, "host": "${vault:db:no} ${who:k}"}).get("host") == "${vault:db:no} ${who:k}"


def test_only_texts_are_searched() -> None:
    assert config({**VAULT, "x": ["${vault:db:port}"]}).originals()["x"] == ["${vault:db:port}"]


def test_defaults_are_not_resolved() -> None:
    definition = ConfigDef().define("a", STRING, "${vault:db:port}")

    assert AbstractConfig(definition, VAULT, registry=Vaults().registry).get("a") == "${vault:db:port}"


def test_without_providers_nothing_is_resolved() -> None:
    assert config({"host": "${vault:db:port}"}).get("host") == "${vault:db:port}"


def test_providers_may_come_from_a_map_of_their_own() -> None:
    assert config({"port": "${vault:db:port}"}, config_provider_props=VAULT).get("port") == 5432


def test_empty_map_of_providers_counts_as_none() -> None:
    assert config({**VAULT, "port": "${vault:db:port}"}, config_provider_props={}).get("port") == 5432


def test_map_of_providers_that_names_none_hides_those_of_the_originals() -> None:
    originals = {**VAULT, "host": "${vault:db:port}"}

    assert config(originals, config_provider_props={"x": "y"}).get("host") == "${vault:db:port}"


def test_provider_gets_its_parameters() -> None:
    vaults = Vaults()
    AbstractConfig(database(), {**VAULT, "config.providers.vault.param.a.b": "c"}, registry=vaults.registry)

    assert vaults.made[0].configs == {"a.b": "c"}


def test_provider_without_class_is_an_error() -> None:
    with pytest.raises(ProviderDefinitionError, match=r"config\.providers\.vault\.class"):
        config({"config.providers": "vault"})


def test_providers_are_closed() -> None:
    vaults = Vaults()
    AbstractConfig(database(), {**VAULT, "port": "${vault:db:port}"}, registry=vaults.registry)

    assert vaults.made[0].closed == 1


def test_difference_providers_are_closed_when_one_refuses() -> None:
    vaults = Vaults(error=AccessDeniedError("no"))
    with pytest.raises(AccessDeniedError):
        AbstractConfig(database(), {**VAULT, "port": "${vault:db:port}"}, registry=vaults.registry)

    assert vaults.made[0].closed == 1


# parsing


def test_all_bad_keys_are_reported_at_once() -> None:
    with pytest.raises(ConfigException) as caught:
        config({1: "a", 2: "b"})  # type: ignore[dict-item] # the mistake under test

    assert caught.value.problems == (
        "The key 1 is not a string. Write it as one.",
        "The key 2 is not a string. Write it as one.",
    )


def test_resolved_value_that_does_not_fit_is_not_quoted() -> None:
    with pytest.raises(ConfigException) as caught:
        config({**VAULT, "port": "${vault:db:password}"})

    assert SECRET not in repr((caught.value, caught.value.__context__))


def test_subclass_may_add_values() -> None:
    definition = database().define("url", STRING, None)

    assert HostConfig(definition, {"password": "p"}).get("url") == "db://p@local"


def test_difference_values_of_a_subclass_are_parsed() -> None:
    assert TextPortConfig(database(), {}).get("port") == 8


def test_values_of_a_subclass_are_checked() -> None:
    with pytest.raises(ConfigException, match="Not a number of type INT"):
        BadPortConfig(database(), {})


# reading


def test_unknown_key_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(ConfigException, match=r"Unknown configuration 'prot', did you mean 'port'\?"):
        config({}).get("prot")


def test_password_is_given_as_such() -> None:
    assert config({"password": "p"}).get_password("password") == Password("p")


def test_password_that_is_not_set_is_none() -> None:
    assert config({}).get_password("password") is None


def test_another_type_is_no_password() -> None:
    with pytest.raises(ConfigException, match="host is not a PASSWORD"):
        config({}).get_password("host")


def test_originals_strings_are_the_originals() -> None:
    assert config({"host": " a ", "x": "b"}).originals_strings() == {"host": " a ", "x": "b"}


def test_originals_strings_names_all_that_are_none() -> None:
    with pytest.raises(ConfigException) as caught:
        config({"x": None, "y": 1, "z": ""}).originals_strings()

    assert [problem.split(" is ")[0] for problem in caught.value.problems] == ["The value of x", "The value of y"]


def test_originals_with_prefix_lose_it() -> None:
    assert prefixed().originals_with_prefix("new.") == {"port": "3", "eu.host": " eu ", "other": "x"}


def test_originals_with_prefix_may_keep_it() -> None:
    kept = prefixed().originals_with_prefix("new.", strip=False)

    assert kept == {"new.port": "3", "new.eu.host": " eu ", "new.other": "x"}


def test_values_are_overridden_by_those_with_prefix() -> None:
    overridden = prefixed().values_with_prefix_override("new.")

    assert overridden == {"host": "local", "port": 3, "password": None, "eu.host": "eu"}


def test_overriding_values_are_checked_all_at_once() -> None:
    with pytest.raises(ConfigException) as caught:
        prefixed(**{"new.port": "x", "new.eu.port": "y"}).values_with_prefix_override("new.")

    assert len(caught.value.problems) == 2


def test_values_with_prefix_only_where_there_are_any() -> None:
    assert prefixed().values_with_prefix_all_or_nothing("new.") == {"port": 3}


def test_all_values_where_none_has_the_prefix() -> None:
    assert prefixed().values_with_prefix_all_or_nothing("old.") == {"host": "local", "port": 2, "password": None}


# use


@pytest.mark.parametrize(
    ("read", "left"),
    [
        pytest.param(lambda c: c.get("port"), {"new.port"}, id="get"),
        pytest.param(lambda c: c.ignore("port"), {"new.port"}, id="ignore"),
        pytest.param(lambda c: c.originals()["port"], {"new.port"}, id="originals-item"),
        pytest.param(lambda c: c.originals().get("port"), {"new.port"}, id="originals-get"),
        pytest.param(lambda c: c.originals_strings()["port"], {"new.port"}, id="originals-strings"),
        pytest.param(lambda c: c.values()["port"], {"new.port"}, id="values"),
        pytest.param(lambda c: c.originals_with_prefix("new.")["port"], {"port"}, id="prefix"),
        pytest.param(lambda c: c.originals_with_prefix("new.", False)["new.port"], {"port"}, id="prefix-kept"),
        pytest.param(lambda c: c.values_with_prefix_override("new.")["port"], set(), id="override"),
        pytest.param(lambda c: c.values_with_prefix_all_or_nothing("new.")["port"], set(), id="all-or-nothing"),
        pytest.param(lambda c: c.values_with_prefix_all_or_nothing("x.")["port"], {"new.port"}, id="nothing"),
        pytest.param(lambda c: dict(c.originals()), {"port", "new.port"}, id="copy-uses-nothing"),
        pytest.param(lambda c: list(c.values().items()), {"port", "new.port"}, id="items-use-nothing"),
        pytest.param(lambda c: "port" in c.originals(), {"port", "new.port"}, id="in-uses-nothing"),
    ],
)
def test_unused_are_the_originals_that_nobody_read(read: Any, left: set[str]) -> None:
    configured = config({"port": "2", "new.port": "3"})
    read(configured)

    assert configured.unused() == left


def test_definitions_of_providers_count_as_unused() -> None:
    assert config(VAULT).unused() == set(VAULT)


# what is shown


@pytest.mark.parametrize(
    "show",
    [
        pytest.param(repr, id="config"),
        pytest.param(lambda c: repr(c.originals()), id="originals"),
        pytest.param(lambda c: str(c.values()), id="values"),
        pytest.param(lambda c: f"{c.originals_with_prefix('ho')}", id="prefix"),
    ],
)
def test_text_form_holds_no_value(show: Any) -> None:
    assert SECRET not in show(config({**VAULT, "host": "${vault:db:password}", "password": SECRET}))


def test_log_lists_values_by_name(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    config({"host": "a\nb"})

    assert caplog.messages == ["AbstractConfig values:\n\thost = a\\nb\n\tpassword = None\n\tport = 1"]


@pytest.mark.parametrize(
    ("key", "written", "shown"),
    [
        pytest.param("host", "at ${vault:db:password}", "at ${vault:db:password}", id="reference-in-text"),
        pytest.param("password", "${vault:db:password}", "${vault:db:password}", id="reference-as-password"),
        pytest.param("password", f"{SECRET}-${{vault:db:port}}", "[hidden]", id="password-around-reference"),
        pytest.param("password", "${who:k}", "[hidden]", id="password-that-looks-like-a-reference"),
        pytest.param("password", SECRET, "[hidden]", id="password"),
    ],
)
def test_difference_log_shows_what_was_written_and_no_password(
    key: str, written: str, shown: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    config({**VAULT, key: written})

    assert f"\t{key} = {shown}" in caplog.text.splitlines()
    assert SECRET not in caplog.text


def test_log_hides_what_a_subclass_added(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    HostConfig(database().define("url", STRING, None), {"password": SECRET})

    assert "\turl = [hidden]" in caplog.text.splitlines()


def test_nothing_is_logged_where_not_wanted(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    config({}, do_log=False)

    assert caplog.messages == []


def test_a_subclass_reads_the_parsed_values_while_it_processes_them():
    class Doubled(AbstractConfig):
        def post_process_parsed_config(self, values):
            return {"i": 2 * self.get("i")}

    assert Doubled(ConfigDef().define("i", ConfigType.INT), {"i": "21"}).get("i") == 42
