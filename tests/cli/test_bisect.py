"""What changed when a task began to fail, on a real database."""

from __future__ import annotations

import pytest

pytest.importorskip("airflow.models.task_state_store", reason="the state of tasks came with Airflow 3.3")

from tests.cli.conftest import Cli
from tests.cli.recorded import Records

BISECT = "bisect --dag flights --task report"
PASSWORD = "${vault:apps/db:password}"


def test_what_differs_between_the_last_success_and_the_first_failure_is_shown(cli: Cli, records: Records):
    for run, state, memory in (
        ("a", "success", "1g"),
        ("b", "success", "2g"),
        ("c", "failed", "4g"),
        ("d", "failed", "8g"),
    ):
        records.ended(run, state, at=f"0{ord(run) - 96}:00")
        records({"spark.executor.memory": memory, "spark.app.same": "1"}, run=run)
    done = cli(f"{BISECT} --output json")

    assert [(row["key"], row["before"], row["after"]) for row in done.rows] == [("spark.executor.memory", "2g", "4g")]
    assert "The last success was in run 'b', begun at 2026-11-23T02:00:00" in done.notes[0]
    assert "The first failure after it was in run 'c'" in done.notes[0]


def test_a_secret_that_changed_shows_by_its_hash(cli: Cli, records: Records):
    for run, state, digest in (("a", "success", "x"), ("b", "failed", "y")):
        records.ended(run, state, at=f"0{ord(run) - 96}:00")
        records({"spark.app.p": PASSWORD}, run=run, key_id="k", references={PASSWORD: digest})

    (row,) = cli.json(BISECT)
    assert (row["key"], row["change"]) == ("spark.app.p", "other secret")


def test_the_order_is_that_in_which_the_task_ran(cli: Cli, records: Records):
    """A run that was cleared ran again after later ones."""
    for run, state, at in (("z", "success", "01:00"), ("a", "failed", "02:00")):
        records.ended(run, state, at=at)
        records({"spark.app.a": run}, run=run)

    assert [(row["before"], row["after"]) for row in cli.json(BISECT)] == [("z", "a")]


def test_runs_with_the_same_configuration_say_so(cli: Cli, records: Records):
    for run, state in (("a", "success"), ("b", "failed")):
        records.ended(run, state, at=f"0{ord(run) - 96}:00")
        records({"spark.app.a": "1"}, run=run)

    assert cli(BISECT).out == "Both runs had the same configuration. The cause is something else.\n"


@pytest.mark.parametrize(
    ("conf", "beginning"),
    [
        pytest.param({"spark.app.a": "1"}, "Both runs had the same configuration, but the failed run", id="the-same"),
        pytest.param({}, "The failed run", id="layers-that-could-not-be-settled"),
    ],
)
def test_a_run_that_was_refused_says_why(cli: Cli, records: Records, conf: dict[str, str], beginning: str):
    records.ended("a", "success", at="01:00")
    records.ended("b", "failed", at="02:00")
    records({"spark.app.a": "1"}, run="a")
    records(conf, run="b", problems=("spark.app.a: policy 'frozen' denies it.",))
    done = cli(BISECT)

    assert done.out == f"{beginning} was refused, and submitted no job: spark.app.a: policy 'frozen' denies it.\n"
    assert "The try was refused: spark.app.a: policy 'frozen' denies it." in done.notes
    assert cli.json(BISECT) == []


def test_a_refused_run_shows_what_differs_too(cli: Cli, records: Records):
    for run, state, problems in (("a", "success", ()), ("b", "failed", ("too much memory",))):
        records.ended(run, state, at=f"0{ord(run) - 96}:00")
        records({"spark.app.a": run}, run=run, problems=problems)

    assert [row["after"] for row in cli.json(BISECT)] == ["b"]


def test_a_run_without_a_record_is_named(cli: Cli, records: Records):
    records.ended("before", "success", at="01:00")
    records.ended("after", "failed", at="02:00")
    records({"spark.app.a": "1"}, run="after")
    done = cli(BISECT)

    assert done.code == 3
    assert "no try in run 'before' has a record" in done.errors[0]


def test_a_task_that_has_not_run_is_an_error(cli: Cli, records: Records):
    done = cli(BISECT)

    assert (done.code, done.errors) == (3, ["No run of task 'report' of DAG 'flights' has succeeded or failed."])


@pytest.mark.parametrize(
    ("words", "code", "problem"),
    [
        pytest.param("--dag flights", 2, "No task given. Add --dag DAG_ID --task TASK_ID.", id="no-task"),
        pytest.param("--task report", 2, "No task given.", id="no-dag"),
        pytest.param("--dag flight --task report", 3, "There is no DAG 'flight', did you mean 'flights'?", id="dag"),
        pytest.param("--dag flights --task repot", 3, "did you mean 'report'?", id="task"),
    ],
)
def test_wrong_names_are_refused(cli: Cli, words: str, code: int, problem: str):
    done = cli(f"bisect {words}")

    assert done.code == code
    assert problem in done.errors[0]


def test_of_a_mapped_task_the_instance_must_be_named(cli: Cli, records: Records):
    for run, state in (("a", "success"), ("b", "failed")):
        for index in (0, 1):
            records.ended(run, state, at=f"0{ord(run) - 96}:00", task="each", map_index=index)
            records({"spark.app.a": f"{run}{index}"}, run=run, task="each", map_index=index)
    each = "bisect --dag flights --task each"

    assert "Add --map-index." in cli(each).errors[0]
    assert [row["after"] for row in cli.json(f"{each} --map-index 1")] == ["b1"]


def test_a_database_that_cannot_be_asked_is_unavailable(cli: Cli):
    cli.deployment.query("alter table task_instance rename to elsewhere")
    try:
        done = cli(BISECT)
    finally:
        cli.deployment.query("alter table elsewhere rename to task_instance")

    assert done.code == 5
    assert "Airflow's database is unavailable" in done.errors[0]
    assert done.errors[0].endswith("If it is new, create them: airflow db migrate.")


def test_a_record_of_a_later_version_is_compared_with_a_note(cli: Cli, records: Records):
    for run, state in (("a", "success"), ("b", "failed")):
        records.ended(run, state, at=f"0{ord(run) - 96}:00")
        records({"spark.app.a": run}, run=run, format=2)
    done = cli(f"{BISECT} --output json")

    assert [row["after"] for row in done.rows] == ["b"]
    assert any("A later version of airflow-config-providers wrote this record." in note for note in done.notes)


def test_it_works_only_on_a_machine_of_the_deployment(cli: Cli):
    done = cli.airflow("config-providers", *BISECT.split(), environ={"AIRFLOW_CONFIG_PROVIDERS_SERVER": "https://a"})

    assert done.code == 2
    assert "'bisect' works only on a machine of the deployment" in done.errors[0]


def test_an_instance_that_no_database_can_have_is_refused(cli: Cli):
    done = cli(f"{BISECT} --map-index 99999999999999999999")

    assert (done.code, done.errors) == (3, ["There is no instance with a map index above 2147483647 or below -1."])
