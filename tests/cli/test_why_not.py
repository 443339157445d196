"""``describe --why-not``, by Airflow's own parser, on a real database."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.cli.test_commands import GONE, forget

REPORT = "--dag flights --task report"
MEMORY = "spark.executor.memory"

POLICIES = """
policies:
- name: small executors
  class: bounds
  params:
    spark.executor.memory: {max: 16g}
"""


def answers(cli: Cli, asked: str, resource: str = REPORT, **settings: str) -> list[dict[str, object]]:
    done = cli(f"describe {resource} --output json --why-not", asked, **settings)
    assert (done.code, done.errors) == (0, [])
    return done.rows


def test_a_setting_of_the_dag_is_beaten_by_dynamic_configuration(cli: Cli):
    cli(f"alter --dag flights --add-config {MEMORY}=4g")
    (answer,) = answers(cli, f"{MEMORY}=3g")

    assert (answer["verdict"], answer["layer"]) == ("beaten", "DAG_CONFIG, argument executor_memory")
    assert answer["reason"] == "DYNAMIC_DAG_CONFIG, dynamic configuration of DAG 'flights', version 1 wins."


def test_people_get_the_verdict_and_the_reason(cli: Cli):
    done = cli(f"describe {REPORT} --why-not {MEMORY}=3g --output plain")

    assert done.code == 0
    assert done.out.splitlines()[0].split() == ["key", "value", "layer", "verdict", "reason"]
    assert done.out.splitlines()[1].endswith("DAG_CONFIG, argument executor_memory  applies  It wins.")


def test_a_value_that_a_file_of_a_run_can_beat_is_not_only_said_to_win(cli: Cli):
    base = str(cli.deployment.home / "base.properties")
    (answer,) = answers(cli, "spark.app.base=yes", "--dag flights --task files", config_files=base)

    assert (answer["verdict"], answer["reason"]) == (
        "applies",
        "It wins. A run can have another value from /data/{{ ds }}.properties, which is not read here and beats it.",
    )


def test_a_file_is_a_layer(cli: Cli):
    (answer,) = answers(cli, str(cli.deployment.home / "base.properties"))

    assert (answer["key"], answer["verdict"]) == ("spark.app.base", "applies")


def test_a_file_that_the_task_names_and_that_cannot_be_read_is_a_layer_without_keys(cli: Cli):
    (answer,) = answers(cli, "/nowhere/x.properties", "--dag flights --task files")

    assert answer["verdict"] == "not read"
    assert "cannot be read on this machine" in str(answer["reason"])


def test_a_value_beyond_a_limit_is_not_allowed(cli: Cli, tmp_path: Path):
    file = tmp_path / "policies.yaml"
    file.write_text(POLICIES)
    (answer,) = answers(cli, f"{MEMORY}=64g", policies_file=str(file))

    assert answer["verdict"] == "not allowed"
    assert "small executors" in str(answer["reason"])


def test_asking_about_a_value_changes_nothing(cli: Cli):
    (answer,) = answers(cli, f"{MEMORY}=5g")

    assert answer["verdict"] == "not set"
    assert cli.json("history --dag flights --task report") == []


def test_a_task_of_another_operator_gets_no_layer(cli: Cli):
    cli(f"alter --dag flights --add-config {MEMORY}=4g")
    (answer,) = answers(cli, f"{MEMORY}=4g", "--dag flights --task done")

    assert (answer["verdict"], answer["reason"]) == (
        "not read",
        "This package does not configure the operator of task 'done' of DAG 'flights'.",
    )


@pytest.mark.parametrize(
    ("resource", "missing"),
    [
        pytest.param(GONE[0], "There is no DAG 'gone'", id="dag"),
        pytest.param(GONE[1], "DAG 'flights' has no task 'retired'", id="task"),
    ],
)
def test_what_is_stored_for_what_is_gone_is_not_read(cli: Cli, resource: str, missing: str):
    forget(cli)
    reasons = {str(answer["reason"]) for answer in answers(cli, "spark.app.a=1", resource)}

    assert [one.partition(". ")[0] for one in reasons] == [missing]


def test_a_database_that_cannot_be_asked_is_unavailable(cli: Cli):
    cli.deployment.query("alter table variable rename to elsewhere")
    try:
        done = cli(f"describe {REPORT} --why-not {MEMORY}=3g")
    finally:
        cli.deployment.query("alter table elsewhere rename to variable")

    assert done.code == 5


def test_a_key_of_markup_and_control_characters_is_shown_as_it_is_and_on_one_line(cli: Cli):
    done = cli(f"describe {REPORT} --output plain --why-not", "spark.app.<b>\x1b[31m\n.x=1")

    assert r"spark.app.<b>\x1b[31m\n.x" in done.out
    assert "not allowed" in done.out


@pytest.mark.parametrize(
    ("layer", "setting"),
    [
        pytest.param("ENVIRONMENT_CONFIG", "environment_enabled", id="environment"),
        pytest.param("RUN_CONFIG", "run_config_enabled", id="run"),
        pytest.param("dynamic configuration of DAG 'flights'", "dynamic_enabled", id="dynamic"),
    ],
)
def test_a_layer_that_is_switched_off_names_the_setting(cli: Cli, layer: str, setting: str):
    cli(f"alter --dag flights --add-config {MEMORY}=4g")
    (answer,) = answers(cli, layer, **{setting: "False"})

    assert answer["verdict"] == "not read"
    assert setting in str(answer["reason"])


def test_a_secret_on_the_command_line_is_a_note_and_is_not_shown(cli: Cli):
    done = cli(f"describe {REPORT} --why-not spark.app.old.password=literal-of-the-dag --output json")

    assert "leave out the value" in done.notes[0]
    assert "literal-of-the-dag" not in done.out + done.err


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        pytest.param("--why-not =x", "--why-not: there is no key and no layer.", id="no-key"),
        pytest.param("--why-not ' '", "--why-not: there is no key and no layer.", id="blank"),
        pytest.param("--why-not a=1 --key a", "--why-not and --key exclude each other.", id="key"),
        pytest.param("--why-not a=1 --synonyms", "--why-not and --synonyms exclude each other.", id="synonyms"),
        pytest.param("--why-not a=1 --all", "--why-not and --all exclude each other.", id="all"),
        pytest.param("--why-not a=1 --diff a b", "--why-not and --diff exclude each other.", id="diff"),
    ],
)
def test_options_that_conflict_are_refused(cli: Cli, words: str, problem: str):
    done = cli(f"describe {REPORT} {words}")

    assert done.code == 2
    assert problem in done.err


def test_an_empty_default_is_called_empty(cli: Cli):
    (answer,) = answers(cli, "spark.jars=a.jar")

    assert answer["reason"] == "No layer sets it. Spark's default is empty."
