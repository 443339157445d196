"""What is refused when it is stored, because no run could use it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, Ended

MEANT = "did you mean 'spark.executor.memory'?"
CONNECTION = {
    "config.providers": "files, variables",
    "config.providers.files.class": "file",
    "config.providers.files.param.allowed.paths": "/tmp",
    "config.providers.variables.class": "airflow_variable",
    "config.providers.variables.param.allowlist.pattern": "spark_.*",
    "driver.config.providers": "vault",
    "driver.config.providers.vault.class": "vault",
    "driver.config.providers.vault.param.url": "https://vault.example.com",
}


def alter(cli: Cli, *words: str, connection: dict[str, str] | None = None, **settings: str) -> Ended:
    environ = {f"AIRFLOW__CONFIG_PROVIDERS__{name.upper()}": text for name, text in settings.items()}
    if connection is not None:
        text = json.dumps({"conn_type": "config_providers", "extra": connection})
        environ["AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT"] = text
    return cli.airflow("config-providers", "alter", *words, environ=environ)


def test_a_misspelt_key_is_noted(cli: Cli) -> None:
    done = alter(cli, "--dag", "flights", "--add-config", "spark.executor.memroy=8g")

    assert done.code == 0
    assert MEANT in done.notes[0]


def test_a_key_that_the_spark_at_hand_does_not_have_is_noted(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "RELEASE").write_text("Spark 3.5.8 built for Hadoop 3.3.4")
    words = ("alter", "--dag", "flights", "--add-config", "spark.checkpoint.dir=x")
    done = cli.airflow("config-providers", *words, environ={"SPARK_HOME": str(tmp_path)})

    assert done.code == 0
    assert any("Spark has this key since 4.0; this Spark is 3.5.8" in note for note in done.notes)


def test_a_misspelt_key_is_refused_where_the_deployment_says_so(cli: Cli) -> None:
    done = alter(cli, "--dag", "flights", "--add-config", "spark.executor.memroy=8g", unknown_keys="fail")

    assert done.code == 3
    assert MEANT in done.errors[0]


def test_a_key_that_spark_would_leave_out_is_refused_with_the_one_that_is_meant(cli: Cli) -> None:
    done = alter(cli, "--default", "--add-config", "executor.memory=8g")

    assert done.code == 3
    assert "do not begin with 'spark.', " + MEANT in done.errors[0]


def test_a_reload_action_that_there_is_not_is_refused(cli: Cli) -> None:
    done = alter(cli, "--dag", "flights", "--add-config", "config.reload.action=reboot")

    assert done.code == 3
    assert "'reboot' is invalid; use none or restart" in done.errors[0]


def test_a_reload_action_is_stored_without_a_word(cli: Cli) -> None:
    done = alter(cli, "--dag", "flights", "--add-config", "config.reload.action=restart", "--validate-only")

    assert (done.code, done.notes) == (0, [])


def test_a_task_whose_job_takes_any_key_is_given_one(cli: Cli) -> None:
    done = alter(cli, "--dag", "flights", "--task", "counts", "--add-config", "hive.exec.dynamic.partition=true")
    described = cli("describe --dag flights --task counts")

    assert (done.code, done.errors) == (0, [])
    assert not [note for note in described.notes if "hive.exec" in note]


def test_a_dag_with_a_job_that_spark_submit_starts_is_not(cli: Cli) -> None:
    done = alter(cli, "--dag", "flights", "--add-config", "hive.exec.dynamic.partition=true")

    assert done.code == 3
    assert "do not begin with 'spark.'" in done.errors[0]


def test_a_misspelt_key_can_be_deleted_without_a_word(cli: Cli) -> None:
    alter(cli, "--dag", "flights", "--add-config", "executor.memory=8g", unknown_keys="ignore")
    done = alter(cli, "--dag", "flights", "--delete-config", "executor.memory", unknown_keys="fail")

    assert (done.code, done.notes) == (0, [])


def test_describe_tells_of_a_misspelt_key_and_where_it_was_written(cli: Cli) -> None:
    alter(cli, "--dag", "flights", "--add-config", "spark.executor.memroy=8g")
    done = cli("describe --dag flights --task report")

    (note,) = done.notes
    assert "'spark.executor.memroy' (dynamic configuration of DAG 'flights', version 1)" in note
    assert MEANT in note


@pytest.mark.parametrize(
    ("task", "beginning"),
    [
        pytest.param("report", "A run of task 'report' of DAG 'flights' would fail. ", id="a job"),
        pytest.param("own", "", id="a custom class, which may read the key"),
    ],
)
def test_describe_tells_that_a_task_cannot_run(cli: Cli, task: str, beginning: str) -> None:
    alter(cli, "--dag", "flights", "--add-config", "executor.memory=8g", unknown_keys="ignore")
    done = cli(f"describe --dag flights --task {task}")

    (note,) = [note for note in done.notes if "do not begin with 'spark.'" in note]
    assert done.code == 0
    assert note.startswith(f"{beginning}'executor.memory' (dynamic configuration of DAG 'flights', version ")


def test_a_file_of_yaml_is_refused(cli: Cli) -> None:
    text = "spark:\n  executor:\n    memory: 8g\n"
    done = cli("alter --dag flights --add-config-file -", input=text)

    assert done.code == 3
    assert "looks like YAML" in done.errors[0]


REFUSED = [
    pytest.param(
        "spark.app.a=${fils:/tmp/a.properties:b}",
        "unknown provider 'fils', did you mean 'files'?",
        id="unknown provider",
    ),
    pytest.param("spark.app.a=${files:/etc/a.properties:b}", "not inside an allowed path", id="path not allowed"),
    pytest.param("spark.app.a=${variables:other}", "not allowed by allowlist.pattern", id="name not allowed"),
    pytest.param("spark.app.x=${files:/tmp/a.properties:\u0430b}", "of another script", id="a look-alike"),
    pytest.param("spark.app.name=${files:/tmp/a.properties:b}", "would be readable by every user", id="a shown key"),
    pytest.param("spark.app.a=${x:-8g}", "Kafka's grammar of references has no defaults", id="a default"),
]


@pytest.mark.parametrize("more", [[], ["--validate-only"]], ids=["", "validate only"])
@pytest.mark.parametrize(("pair", "problem"), REFUSED)
def test_a_reference_that_no_run_could_use_is_refused(cli: Cli, pair: str, problem: str, more: list[str]) -> None:
    done = alter(cli, "--dag", "flights", "--add-config", pair, *more, connection=CONNECTION)

    assert done.code == 3
    assert len(done.errors) == 1
    assert problem in done.errors[0]


@pytest.mark.parametrize(
    "pair",
    [
        pytest.param("spark.app.a=${files:/tmp/not-there.properties:b}", id="a file that is not there"),
        pytest.param("spark.app.a=${variables:spark_token}", id="a name that is allowed"),
        pytest.param("spark.app.a=${vault:apps/db:password}", id="a provider of the driver"),
        pytest.param("spark.app.a=${env:HOME}", id="a reference of Spark's own"),
    ],
)
def test_a_reference_that_a_run_may_use_is_stored(cli: Cli, pair: str) -> None:
    done = alter(cli, "--dag", "flights", "--add-config", pair, connection=CONNECTION)

    assert (done.code, done.errors, done.notes) == (0, [], [])


def test_a_shown_key_may_have_a_reference_where_the_deployment_allows_it(cli: Cli) -> None:
    pair = "spark.app.name=${files:/tmp/a.properties:b}"
    done = alter(cli, "--default", "--add-config", pair, connection=CONNECTION, allow_exposed_arguments="True")

    assert (done.code, done.errors) == (0, [])


OPTIONS = "spark.executor.extraJavaOptions"


@pytest.mark.parametrize("resource", [["--dag", "flights"], ["--dag", "flights", "--task", "report"]])
@pytest.mark.parametrize("secret", ["spark.app.db.password", "spark.app.old.password"])
def test_a_secret_of_the_dag_may_not_be_put_into_a_shown_key(cli: Cli, resource: list[str], secret: str) -> None:
    pair = f"{OPTIONS}=-Da=${{{secret}}}"
    done = alter(cli, *resource, "--add-config", pair, "--validate-only", connection=CONNECTION)

    assert done.code == 3
    (error,) = done.errors
    assert f"{OPTIONS}: Spark replaces {secret} in it by its secret, which would be readable" in error


def test_another_key_of_the_dag_may_be_put_into_a_shown_key(cli: Cli) -> None:
    pair = f"{OPTIONS}=-Da=${{spark.app.tags}}"
    done = alter(cli, "--dag", "flights", "--add-config", pair, "--validate-only", connection=CONNECTION)

    assert (done.code, done.errors, done.notes) == (0, [], [])


def test_a_key_that_is_put_into_a_shown_key_may_not_become_a_secret(cli: Cli) -> None:
    alter(cli, "--default", "--add-config", f"{OPTIONS}=-Da=${{spark.app.a}}", connection=CONNECTION)
    pair = "spark.app.a=${files:/tmp/a.properties:b}"
    done = alter(cli, "--dag", "own", "--task", "usual", "--add-config", pair, connection=CONNECTION)

    assert done.code == 3
    assert f"{OPTIONS}: Spark replaces spark.app.a in it" in done.errors[0]


def test_a_secret_that_was_shown_before_the_change_is_not_held_against_it(cli: Cli) -> None:
    shown = f"{OPTIONS}=-Da=${{spark.app.db.password}}"
    alter(cli, "--dag", "flights", "--add-config", shown, connection=CONNECTION, allow_exposed_arguments="True")
    pair = "spark.app.a=${files:/tmp/a.properties:b}"
    done = alter(cli, "--dag", "flights", "--add-config", pair, connection=CONNECTION)

    assert (done.code, done.errors) == (0, [])


def test_a_change_that_removes_the_secret_may_put_its_key_into_a_shown_key(cli: Cli) -> None:
    words = ("--dag", "own", "--task", "usual", "--add-config")
    alter(cli, *words, "spark.app.a=${files:/tmp/a.properties:b}", connection=CONNECTION)
    pair = f"{OPTIONS}=-Da=${{spark.app.a}}"
    done = alter(cli, *words, pair, "--delete-config", "spark.app.a", "--validate-only", connection=CONNECTION)

    assert (done.code, done.errors) == (0, [])


def test_an_unknown_provider_may_be_stored_where_references_are_kept(cli: Cli) -> None:
    done = alter(cli, "--default", "--add-config", "spark.app.a=${x:y}", connection=CONNECTION, unresolved="keep")

    assert (done.code, done.errors) == (0, [])


@pytest.mark.parametrize("task", ["keeping", "each"])
def test_an_unknown_provider_may_be_stored_for_a_task_that_keeps_references(cli: Cli, task: str) -> None:
    done = alter(cli, "--dag", "own", "--task", task, "--add-config", "spark.app.a=${x:y}", connection=CONNECTION)

    assert (done.code, done.errors) == (0, [])


def test_an_unknown_provider_is_refused_for_a_task_that_does_not_keep_references(cli: Cli) -> None:
    words = ("--dag", "own", "--task", "failing", "--add-config", "spark.app.a=${x:y}")
    done = alter(cli, *words, connection=CONNECTION, unresolved="keep")

    assert done.code == 3
    assert "unknown provider 'x'" in done.errors[0]


def test_it_is_told_that_references_were_not_checked(cli: Cli) -> None:
    done = alter(cli, "--default", "--add-config", "spark.app.a=${x:y}")

    assert done.code == 0
    assert "References are stored without checking them against their providers" in done.notes[0]


def of_own(cli: Cli, *words: str, own: dict[str, str]) -> Ended:
    """Alter where the connection of the task ``own`` is there besides the usual one."""
    connections = {"OF_ITS_OWN": own, "CONFIG_PROVIDERS_DEFAULT": CONNECTION}
    environ = {
        f"AIRFLOW_CONN_{name}": json.dumps({"conn_type": "config_providers", "extra": extra})
        for name, extra in connections.items()
    }
    return cli.airflow("config-providers", "alter", *words, environ=environ)


SHOWN = "spark.app.name=${files:/tmp/a.properties:b}"


def test_a_task_is_judged_by_what_its_author_says(cli: Cli) -> None:
    done = of_own(cli, "--dag", "own", "--task", "own", "--add-config", SHOWN, own=CONNECTION)

    assert (done.code, done.errors) == (0, [])


def test_a_task_is_judged_by_its_own_connection(cli: Cli) -> None:
    done = of_own(cli, "--dag", "own", "--task", "own", "--add-config", SHOWN, own={})

    assert done.code == 3
    assert "unknown provider 'files'" in done.errors[0]
    assert len(done.errors) == 1


def test_a_dag_is_judged_by_each_of_its_tasks(cli: Cli) -> None:
    done = of_own(cli, "--dag", "own", "--add-config", SHOWN, own={})

    assert done.code == 3
    assert [
        words in error for words, error in zip(("would be readable by", "unknown provider"), done.errors, strict=True)
    ]


@pytest.mark.parametrize("task", ["report", "query"])
def test_a_master_that_the_operator_does_not_pass_on_is_noted(cli: Cli, tmp_path: Path, task: str) -> None:
    (tmp_path / "spark.properties").write_text("spark.master=yarn")
    words = ("describe", "--dag", "flights", "--task", task, "--key", "spark.master")
    environ = {"AIRFLOW__CONFIG_PROVIDERS__CONFIG_FILES": str(tmp_path / "spark.properties")}

    done = cli.airflow("config-providers", *words, environ=environ)

    assert done.code == 0
    assert "has no effect: the operator passes the master of its Spark connection. Set it there." in "".join(done.notes)


def test_a_master_of_the_deployment_is_not_noted(cli: Cli, tmp_path: Path) -> None:
    """The functions of ``@task.pyspark`` get it."""
    (tmp_path / "spark.properties").write_text("spark.master=yarn")
    environ = {"AIRFLOW__CONFIG_PROVIDERS__CONFIG_FILES": str(tmp_path / "spark.properties")}

    done = cli.airflow("config-providers", "describe", "--default", environ=environ)

    assert done.code == 0
    assert "has no effect" not in "".join(done.notes)
