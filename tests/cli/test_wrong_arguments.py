"""Command lines that make no sense."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Cli

ALTER = "alter --dag flights --add-config spark.app.a=1"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ("--username ann", "--username"),
        ("--token-file token", "--token-file"),
        ("--password-file password", "--password-file"),
        ("--allow-plain-http", "--allow-plain-http"),
    ],
)
@pytest.mark.parametrize("command", [ALTER, "describe --default", "history --default", "rollback --dag flights"])
def test_an_option_for_a_server_is_refused_without_one(cli: Cli, command: str, options: str, named: str) -> None:
    done = cli(f"{command} {options}")

    assert done.code == 2
    assert done.errors == [f"{named} requires a server. Add --server URL, or remove {named}."]


def test_all_that_is_wrong_with_a_command_line_is_told_at_once(cli: Cli) -> None:
    done = cli("alter --task t --add-config nothing --add-config =b --append c --username ann")

    assert done.code == 2
    assert [error.split(" ")[0] for error in done.errors] == ["Name", "'nothing'", "'...'", "'c'", "--username"]


def test_all_that_is_wrong_with_a_trial_of_policies_is_told_at_once(cli: Cli) -> None:
    done = cli("policies test --default --at render --add-config nothing")

    assert done.code == 2
    assert len(done.errors) == 2


def test_a_plan_without_changes_and_without_a_time_tells_both(cli: Cli) -> None:
    done = cli("plan --timeout nan")

    assert done.code == 2
    assert [error.split(" ")[0] for error in done.errors] == ["--timeout", "No"]


@pytest.mark.parametrize("command", ["policies test", "providers list", "encoder rotate"])
def test_a_server_is_not_offered_where_it_is_refused(cli: Cli, command: str) -> None:
    assert "--server" not in cli(f"{command} --help").out


def test_a_value_with_commas_is_not_taken_for_several_keys(cli: Cli) -> None:
    done = cli("alter --dag flights --add-config", "spark.driver.extraJavaOptions=-Da=1,b=hunter2")

    assert done.code == 2
    assert "Put a value with commas into brackets" in done.errors[0]
    assert "hunter2" not in done.err


def test_brackets_that_are_not_closed_are_refused(cli: Cli) -> None:
    done = cli("alter --dag flights --add-config spark.jars=[a.jar,b.jar --validate-only")

    assert done.code == 2
    assert done.errors == ["'spark.jars=[...' lacks the closing bracket. Write KEY=[a,b]."]


def test_a_key_without_a_value_is_told_what_a_pair_is(cli: Cli) -> None:
    done = cli("alter --dag flights --add-config spark.executor.memory")

    assert done.code == 2
    assert done.errors == ["'spark.executor.memory' is not KEY=VALUE. Write the value after =."]


def test_several_keys_of_spark_may_stand_behind_commas(cli: Cli) -> None:
    rows = cli.json("alter --dag flights --add-config spark.app.a=1,spark.app.b=2")

    assert {row["key"]: row["value"] for row in rows} == {"spark.app.a": "1", "spark.app.b": "2"}


# providers list


def listed(cli: Cli, extra: dict[str, str], *words: str, conn_id: str = "config_providers_default"):
    connection = json.dumps({"conn_type": "config_providers", "extra": extra})
    environ = {f"AIRFLOW_CONN_{conn_id.upper()}": connection}
    return cli.airflow("config-providers", "providers", "list", *words, environ=environ)


def test_a_connection_without_definitions_is_an_error_that_names_the_field_that_is_meant(cli: Cli) -> None:
    done = listed(cli, {"config.provider": "file", "config.providers.file.class": "file"})

    assert done.code == 3
    assert "'config.provider' in its extra is not read, did you mean 'config.providers'?" in done.errors[0]
    assert done.errors[0].count("did you mean") == 1


def test_a_connection_without_definitions_is_an_error_that_names_the_property_that_is_meant(cli: Cli) -> None:
    done = listed(cli, {"properties": "config.provider=file"})

    assert "'config.provider' in its properties is not read, did you mean 'config.providers'?" in done.errors[0]


def test_a_connection_without_definitions_is_an_error(cli: Cli) -> None:
    done = listed(cli, {})

    assert done.code == 3
    assert "Connection 'config_providers_default' defines no provider" in done.errors[0]


def test_a_connection_of_another_type_is_an_error_that_names_its_type(cli: Cli) -> None:
    environ = {"AIRFLOW_CONN_SPARK_NIGHT": json.dumps({"conn_type": "spark", "host": "local"})}
    done = cli.airflow("config-providers", "providers", "list", "--conn-id", "spark_night", environ=environ)

    assert done.code == 3
    assert "Its type is 'spark': use --conn-id to name a connection of type config_providers." in done.errors[0]


def test_a_connection_that_is_not_there_is_an_error_that_names_the_nearest(cli: Cli) -> None:
    cli.airflow("connections", "add", "config_providers_night", "--conn-type", "config_providers")
    done = cli("providers list --conn-id config_provider_nihgt")
    cli.airflow("connections", "delete", "config_providers_night")

    assert done.code == 3
    assert "did you mean 'config_providers_night'?" in done.errors[0]


def test_the_connection_that_the_deployment_says_is_listed(cli: Cli) -> None:
    environ = {
        "AIRFLOW__CONFIG_PROVIDERS__CONFIG_CONN_ID": "night",
        "AIRFLOW_CONN_NIGHT": json.dumps({"conn_type": "config_providers", "extra": {}}),
    }
    done = cli.airflow("config-providers", "providers", "list", environ=environ)

    assert "Connection 'night' defines no provider" in done.errors[0]


def test_a_connection_of_an_empty_variable_is_an_error_that_names_the_variable(cli: Cli) -> None:
    environ = {"AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT": ""}
    done = cli.airflow("config-providers", "providers", "list", "--check", environ=environ)

    assert done.code == 3
    assert done.errors == [
        "There is no connection 'config_providers_default': Airflow ignores AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT, "
        "which is empty. Write a connection into it, or remove it."
    ]


def test_a_connection_of_an_empty_variable_is_not_proposed_in_place_of_another(cli: Cli) -> None:
    environ = {"AIRFLOW_CONN_CONFIG_PROVIDERS_NIGHT": ""}
    done = cli.airflow("config-providers", "providers", "list", "--conn-id", "config_provider_nihgt", environ=environ)

    assert "did you mean" not in done.errors[0]


def test_the_nearest_connection_may_be_one_of_the_environment(cli: Cli) -> None:
    done = listed(cli, {}, "--conn-id", "config_provider_nihgt", conn_id="config_providers_night")

    assert done.code == 3
    assert "did you mean 'config_providers_night'?" in done.errors[0]


# policies test

POLICIES = """
policies:
- name: at render
  match: {at: [render]}
  class: forbidden_keys
  params: {keys: [spark.app.a]}
- name: always
  class: forbidden_keys
  params: {keys: [spark.app.b]}
- name: when
  when: "'spark.app.c' in after"
  class: forbidden_keys
  params: {keys: [spark.app.c]}
"""


def test_a_policy_that_is_not_asked_does_not_allow(cli: Cli, tmp_path) -> None:
    file = tmp_path / "policies.yaml"
    file.write_text(POLICIES)
    done = cli(f"policies test --policies-file {file} --dag flights --add-config spark.app.x=1 --output json")

    assert done.errors == []
    assert {row["policy"]: row["verdict"] for row in done.rows} == {
        "at render": "not asked",
        "always": "allows",
        "when": "not asked",
    }


# encoder


def test_a_short_secret_is_refused_by_the_command(cli: Cli) -> None:
    done = cli("encoder rotate", password_encoder_secret="fifteen-letters")

    assert done.code == 3
    assert "has fewer than 16 bytes" in done.errors[0]
    assert "openssl rand -base64 32" in done.errors[0]


def test_nothing_is_encrypted_with_a_short_secret(cli: Cli) -> None:
    done = cli("alter --dag flights --add-config spark.app.password=x", password_encoder_secret="fifteen-letters")

    assert done.code == 3
    assert "has fewer than 16 bytes" in done.errors[0]
