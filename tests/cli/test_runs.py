"""What a run had, what differs, and what waits for the next submit, on a real database."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

pytest.importorskip("airflow.models.task_state_store", reason="the state of tasks came with Airflow 3.3")

from airflow_config_providers.core.layers import ConfigSource
from airflow_config_providers.job.records.entries import LARGEST_ENTRY, job_key, packed
from airflow_config_providers.job.records.files import RecordFiles
from airflow_config_providers.job.records.record import RecordedValue, TaskTry, TryRecord
from tests.cli.conftest import Cli
from tests.cli.recorded import RUN, Records

REPORT = "--dag flights --task report"
PASSWORD = "${vault:apps/db:password}"


def rows(cli: Cli, words: str) -> dict[str, dict[str, object]]:
    done = cli(words, "--output", "json")
    assert done.code == 0, done.err
    return {row["key"]: row for row in done.rows}


# describe --run


def test_a_run_is_described_as_it_was(cli: Cli, records: Records):
    records({"spark.executor.memory": "1g", "spark.app.password": "literal"})
    found = rows(cli, f"describe {REPORT} --run {RUN}")

    assert (found["spark.executor.memory"]["value"], found["spark.executor.memory"]["origin"]) == ("1g", "conf")
    assert found["spark.app.password"]["value"] is None
    assert found.keys() == {"spark.executor.memory", "spark.app.password"}


def test_the_last_try_is_described_unless_another_is_asked_for(cli: Cli, records: Records):
    for number in (1, 2, 10):
        records({"spark.executor.memory": f"{number}g"}, number=number)

    assert rows(cli, f"describe {REPORT} --run {RUN}")["spark.executor.memory"]["value"] == "10g"
    assert rows(cli, f"describe {REPORT} --run {RUN} --try 1")["spark.executor.memory"]["value"] == "1g"


def test_people_see_when_the_try_began_its_job_its_versions_and_its_policies(cli: Cli, records: Records):
    records({"spark.app.a": "1"}, job="driver-1", versions={"spark": "4.1.0"}, policies=("memory",), restarts=2)
    err = cli(f"describe {REPORT} --run {RUN}").err

    assert f"Try 1 in run '{RUN}', begun at 2026-11-23T17:00:00.000+00:00. The id of its job is driver-1." in err
    assert "Versions: spark 4.1.0." in err
    assert "Policies that allowed it: memory." in err
    assert "The job was restarted 2 times" in err


def test_a_try_that_followed_a_job_is_described_as_that_was_submitted(cli: Cli, records: Records):
    records({"spark.app.a": "submitted"}, job="driver-1")
    records({"spark.app.a": "shown"}, number=2, follows=1, job="driver-1")
    done = cli(f"describe {REPORT} --run {RUN} --output json")

    assert done.rows[0]["value"] == "submitted"
    assert "This try submitted nothing: it followed job driver-1 of try 1." in done.err


def test_markup_and_control_characters_are_shown_as_they_are_and_on_one_line(cli: Cli, records: Records):
    records({"spark.app.a": "[bold]<b>x</b>\x1b[31m\ny"})
    out = cli(f"describe {REPORT} --run {RUN} --output plain").out

    assert r"[bold]<b>x</b>\x1b[31m\ny" in out


def test_people_see_which_instance_of_a_mapped_task_is_described(cli: Cli, records: Records):
    records({"spark.app.a": "1"}, task="differing", map_index=1)

    assert f"Try 1 of instance 1 in run '{RUN}'" in cli(f"describe --dag flights --task differing --run {RUN}").err


def test_an_instance_without_a_record_is_named(cli: Cli, records: Records):
    records({"spark.app.a": "1"}, task="differing", map_index=1)
    done = cli(f"describe --dag flights --task differing --run {RUN} --map-index 2")

    assert (done.code, done.out) == (3, "")
    assert f"no try of instance 2 in run '{RUN}' has a record" in done.err


def test_a_try_that_was_refused_before_its_layers_were_settled_is_not_called_empty(cli: Cli, records: Records):
    records({}, problems=("A reference in dag_run.conf is not allowed.",))
    done = cli(f"describe {REPORT} --run {RUN}")

    assert done.out == "This try has no configuration.\n"
    assert "It was refused before its layers were settled, so its configuration is not known." in done.err


def test_a_single_key_of_a_run_is_described(cli: Cli, records: Records):
    records({"spark.app.a": "1", "spark.app.b": "2"})

    assert rows(cli, f"describe {REPORT} --run {RUN} --key spark.app.a").keys() == {"spark.app.a"}


def test_a_key_that_the_run_did_not_have_is_refused_with_the_nearest(cli: Cli, records: Records):
    records({"spark.app.alpha": "1"})
    done = cli(f"describe {REPORT} --run {RUN} --key spark.app.alpah")

    assert done.code == 3
    assert "The job had no key 'spark.app.alpah', did you mean 'spark.app.alpha'?" in done.err


def test_an_unknown_run_is_refused_with_the_nearest(cli: Cli, records: Records):
    records.run()
    done = cli(f"describe {REPORT} --run {RUN}x")

    assert done.code == 3
    assert f"DAG 'flights' has no run '{RUN}x', did you mean '{RUN}'?" in done.err


def test_a_run_without_a_record_says_why_there_can_be_none(cli: Cli, records: Records):
    records.run()
    done = cli(f"describe {REPORT} --run {RUN}")

    assert done.code == 3
    assert "records_enabled" in done.err
    assert "default_retention_days" in done.err


def test_of_a_mapped_task_the_instance_must_be_named(cli: Cli, records: Records):
    for index in (0, 1):
        records({"spark.app.a": str(index)}, task="each", map_index=index)
    each = f"describe --dag flights --task each --run {RUN}"

    assert "Choose one by its map index, such as 0." in cli(each).err
    assert rows(cli, f"{each} --map-index 1")["spark.app.a"]["value"] == "1"


LOOP, OTHER_LOOP = "1" * 32, "2" * 32
"""The regions of loops of Airflow 3.4."""


@pytest.fixture
def loops(records: Records) -> Records:
    """A database in which tasks can be in loops."""
    if not records.has_loops:
        pytest.skip("loops came with Airflow 3.4")
    return records


def test_an_iteration_of_a_loop_is_described_by_its_number(cli: Cli, loops: Records):
    for index in (0, 1):
        loops({"spark.app.a": str(index)}, task="each", map_index=index, region=LOOP)
    each = f"describe --dag flights --task each --run {RUN}"

    assert "2 of its instances have a record in this run. Choose one by its map index, such as 0." in cli(each).err
    assert rows(cli, f"{each} --map-index 1")["spark.app.a"]["value"] == "1"


def test_records_of_two_iterations_are_not_mixed(cli: Cli, loops: Records):
    """The instances of a mapped task in a loop have the same numbers in each iteration."""
    loops({"spark.app.a": "of the first"}, task="each", map_index=0, region=LOOP, job="driver-1")
    loops({"spark.app.a": "of the second"}, task="each", map_index=0, region=OTHER_LOOP)
    done = cli(f"describe --dag flights --task each --run {RUN} --map-index 0")

    assert (done.code, done.out) == (3, "")
    assert "2 of its instances with the number 0 have a record, and none of them can be chosen here" in done.err


def test_instances_of_a_mapped_task_outside_of_loops_are_found_as_before(cli: Cli, loops: Records):
    loops({"spark.app.a": "1"}, task="each", map_index=1, region=LOOP)
    loops.mapped("each", LOOP)
    done = cli(f"describe --dag flights --task each --run {RUN} --map-index 1 --output json")

    assert done.rows[0]["value"] == "1"


def test_a_record_in_xcoms_is_read_too(cli: Cli, records: Records):
    """Airflow 3.2 has no state of tasks."""
    task = TaskTry("flights", "report", RUN)
    record = TryRecord(task, "2026-11-23", {"spark.app.a": [RecordedValue("DAG_CONFIG", "conf", "1")]})
    records.xcoms(task, {**packed(record), job_key(1): "7"})
    done = cli(f"describe {REPORT} --run {RUN} --output json")

    assert done.rows[0]["value"] == "1"
    assert "The id of its job is 7." in done.err


def test_an_entry_that_is_no_record_is_none(cli: Cli, records: Records):
    records.entries(TaskTry("flights", "report", RUN), {"config_providers_record_1": {"parts": 1, "data": "x"}})

    assert cli(f"describe {REPORT} --run {RUN}").code == 3


@pytest.mark.parametrize("words", ["", " --try 1"])
def test_a_record_with_a_missing_part_is_said_to_be_there(cli: Cli, records: Records, words: str):
    records.entries(TaskTry("flights", "report", RUN), {"config_providers_record_1": {"parts": 2, "data": "x"}})

    done = cli(f"describe {REPORT} --run {RUN}{words}")
    assert (done.code, f"the record of try 1 in run '{RUN}' cannot be read" in done.errors[0]) == (3, True)


def test_an_entry_that_is_larger_than_those_of_tasks_is_not_read(cli: Cli, records: Records):
    task, layer = TaskTry("flights", "report", RUN), ConfigSource.DAG_CONFIG.name
    configs = {f"spark.app.{n}": [RecordedValue(layer, "conf", secrets.token_hex(900))] for n in range(100)}
    *others, (key, first) = packed(TryRecord(task, "2026-11-23", configs)).items()
    data = "".join([first["data"], *(part for _, part in others)])
    assert len(data) > LARGEST_ENTRY
    records.entries(task, {key: {**first, "parts": 1, "data": data}})

    assert "try 1 in run" in cli(f"describe {REPORT} --run {RUN} --try 1").err


def test_a_large_record_is_read_from_its_parts(cli: Cli, records: Records):
    configs = {f"spark.app.{n}": secrets.token_hex(900) for n in range(100)}
    records(configs)

    found = rows(cli, f"describe {REPORT} --run {RUN}")
    assert {key: row["value"] for key, row in found.items()} == configs


def test_a_record_in_a_backend_of_the_workers_says_so(cli: Cli, records: Records):
    records.entries(TaskTry("flights", "report", RUN), {"config_providers_record_1": {"__airflow_state_ref__": "s3"}})

    assert "state_store_backend" in cli(f"describe {REPORT} --run {RUN}").err


def test_a_record_in_a_backend_of_the_workers_is_read_from_the_files(cli: Cli, records: Records, tmp_path: Path):
    """A task of the database followed one, too, whose record is in the backend."""
    for number, follows in ((1, None), (2, 1)):
        task = TaskTry("flights", "report", RUN, try_number=number)
        records.entries(task, {f"config_providers_record_{number}": {"__airflow_state_ref__": "s3"}})
        configs = {"spark.app.a": [RecordedValue("DAG_CONFIG", "conf", str(number))]}
        RecordFiles(str(tmp_path)).write(TryRecord(task, "2026-11-23T17:00:00.000+00:00", configs, follows=follows))
    words = f"describe {REPORT} --run {RUN} --output json"

    assert [cli(f"{words} --try {n}", records_path=str(tmp_path)).rows[0]["value"] for n in (1, 2)] == ["1", "1"]
    assert "state_store_backend" in cli(words, records_path=str(tmp_path / "empty")).err


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        pytest.param("--dag flights --run r", "--run and --diff require a task.", id="run-of-a-dag"),
        pytest.param("--default --diff a b", "--run and --diff require a task.", id="diff-of-the-deployment"),
        pytest.param(f"{REPORT} --try 1", "--try requires a run.", id="try-of-no-run"),
        pytest.param(f"{REPORT} --map-index 1", "--map-index requires a run.", id="instance-of-no-run"),
        pytest.param(f"{REPORT} --run r --all", "--all shows Spark's defaults", id="all"),
        pytest.param(f"{REPORT} --run r --try 0", "--try: tries are numbered from 1.", id="try-0"),
        pytest.param(f"{REPORT} --diff a now --try 1", "--diff and --try exclude each other.", id="diff-and-try"),
        pytest.param(f"{REPORT} --diff a now --synonyms", "--diff and --synonyms", id="diff-and-synonyms"),
        pytest.param(f"{REPORT} --diff 'a#x' now", "'a#x' is not RUN_ID#TRY.", id="no-number"),
        pytest.param("--dag flights --diff run https://a", "--run and --diff require a task.", id="run-and-address"),
        pytest.param("--default --diff https://a https://b", "only one side can be an address", id="two-addresses"),
        pytest.param("--default --diff now http://a", "anyone on the network path could read", id="plain-http"),
        pytest.param("--default --diff now https://a", "No credentials for the server.", id="address-without-a-token"),
        pytest.param(
            "--default --diff now https://a --server https://b", "--diff compares this deployment", id="server-too"
        ),
    ],
)
def test_options_that_conflict_are_refused(cli: Cli, words: str, problem: str):
    done = cli(f"describe {words}")

    assert done.code == 2
    assert problem in done.err


# describe --diff


def test_two_tries_differ_in_what_is_added_changed_and_removed(cli: Cli, records: Records):
    records({"spark.app.same": "1", "spark.app.a": "1", "spark.app.gone": "1"})
    records({"spark.app.same": "1", "spark.app.a": "2", "spark.app.new": "1"}, number=2)
    found = rows(cli, f"describe {REPORT} --run {RUN} --diff 1 2")

    assert {key: (row["change"], row["before"], row["after"]) for key, row in found.items()} == {
        "spark.app.a": ("changed", "1", "2"),
        "spark.app.gone": ("removed", "1", None),
        "spark.app.new": ("added", None, "1"),
    }
    assert found["spark.app.a"]["before_layer"] == "DAG_CONFIG, conf"


def test_whoever_changed_dynamic_configuration_is_named(cli: Cli, records: Records):
    records({"spark.executor.memory": "1g", "spark.app.old": "1"})
    cli("alter --dag flights --add-config spark.executor.memory=4g")
    found = rows(cli, f"describe {REPORT} --diff {RUN} now")
    (change,) = cli.json("history --dag flights")

    assert found["spark.executor.memory"]["changed_by"] == change["by"]
    assert found["spark.executor.memory"]["changed_at"] == change["at"]
    assert found["spark.app.old"]["changed_by"] is None


def test_two_runs_are_compared(cli: Cli, records: Records):
    records({"spark.app.a": "1"}, run="one")
    records({"spark.app.a": "2"}, run="other", number=2)

    assert rows(cli, f"describe {REPORT} --diff one 'other#2'").keys() == {"spark.app.a"}


@pytest.mark.parametrize(
    ("task", "sides", "change"),
    [
        pytest.param("files", f"{RUN} now", "only a run knows", id="chosen"),
        pytest.param("files", f"now {RUN}", "only a run knows", id="chosen, the other way round"),
        pytest.param("report", f"{RUN} now", "removed", id="no file is chosen"),
    ],
)
def test_a_key_of_a_file_that_a_run_chose_is_not_called_removed(
    cli: Cli, records: Records, task: str, sides: str, change: str
):
    records({"spark.app.of.file": "1"}, task=task, source=ConfigSource.STATIC_FILE_CONFIG)
    found = rows(cli, f"describe --dag flights --task {task} --diff {sides}")

    assert found["spark.app.of.file"]["change"] == change


def test_a_key_of_the_dag_is_removed_though_a_run_chooses_a_file(cli: Cli, records: Records):
    records({"spark.app.of.dag": "1"}, task="files")
    found = rows(cli, f"describe --dag flights --task files --diff {RUN} now")

    assert found["spark.app.of.dag"]["change"] == "removed"


def test_a_run_is_compared_with_now(cli: Cli, records: Records):
    records({"spark.executor.memory": "1g"})
    found = rows(cli, f"describe {REPORT} --diff {RUN} now")

    assert (found["spark.executor.memory"]["before"], found["spark.executor.memory"]["after"]) == ("1g", "3g")


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        pytest.param(("k", "a"), ("k", "b"), ["other secret"], id="another-value"),
        pytest.param(("k", "a"), ("k", "a"), [], id="the-same-value"),
        pytest.param(("k", "a"), ("l", "b"), [], id="hashes-of-different-keys"),
        pytest.param(("k", "a"), ("k", None), [], id="no-hash"),
    ],
)
def test_the_same_reference_with_another_value_is_a_difference(cli: Cli, records: Records, one, other, expected):
    for number, (key_id, digest) in ((1, one), (2, other)):
        records({"spark.app.p": PASSWORD}, number=number, key_id=key_id, references={PASSWORD: digest})

    found = rows(cli, f"describe {REPORT} --run {RUN} --diff 1 2")
    assert [row["change"] for row in found.values()] == expected


def test_without_differences_people_are_told_so(cli: Cli, records: Records):
    records({"spark.app.a": "1"})

    assert cli(f"describe {REPORT} --run {RUN} --diff 1 1").out == "There are no differences.\n"


# describe, what is applied


def test_a_key_that_waits_for_the_next_submit_is_pending(cli: Cli, records: Records):
    records({"spark.executor.memory": "1g", "spark.driver.memory": "2g"})
    found = rows(cli, f"describe {REPORT}")

    assert (found["spark.executor.memory"]["applied"], found["spark.executor.memory"]["pending"]) == ("1g", True)
    assert (found["spark.driver.memory"]["applied"], found["spark.driver.memory"]["pending"]) == ("2g", False)
    assert (found["spark.yarn.queue"]["applied"], found["spark.yarn.queue"]["pending"]) == (None, True)


@pytest.mark.parametrize("task", ["report", "queries"], ids=["task", "mapped-task"])
def test_a_path_in_a_version_of_a_dag_bundle_does_not_wait(cli: Cli, records: Records, task: str):
    now, then = f"{cli.deployment.home}/dags", "/bundles/git/versions/c0ffee/dags"
    cli(f"alter --dag flights --add-config spark.app.same={now}/a.jar --add-config spark.app.other={now}/b.jar")
    versions, dag_file = {"bundle": "git", "bundle_version": "c0ffee"}, f"{then}/flights.py"
    had = {"spark.app.same": f"{then}/a.jar", "spark.app.other": f"{then}/a.jar"}
    records(had, task=task, versions=versions, dag_file=dag_file)

    found = rows(cli, f"describe --dag flights --task {task}")
    assert [found[f"spark.app.{name}"]["pending"] for name in ("same", "other")] == [False, True]


def test_people_see_pending_with_what_the_job_has(cli: Cli, records: Records):
    records({"spark.executor.memory": "1g"})
    out = cli(f"describe {REPORT} --output plain").out

    assert "pending, is 1g" in out
    assert "pending, is not set" in out


def test_a_key_that_the_next_job_will_not_have_is_a_note(cli: Cli, records: Records):
    records({"spark.app.gone": "1"})

    assert "which the next one will not have: spark.app.gone." in cli(f"describe {REPORT}").err


def test_a_dynamic_key_of_a_mapped_task_that_the_next_job_will_not_have_is_a_note(cli: Cli, records: Records):
    records({"spark.app.gone": "1"}, task="differing", map_index=0, source=ConfigSource.DYNAMIC_TASK_CONFIG)

    err = cli("describe --dag flights --task differing").err
    assert "which the next one will not have: spark.app.gone." in err


def test_a_key_that_instances_of_a_mapped_task_can_set_is_not_called_gone(cli: Cli, records: Records):
    records({"spark.app.a": "1"}, task="differing", map_index=0)

    assert "which the next one will not have" not in cli("describe --dag flights --task differing").err


def test_a_value_of_run_configuration_does_not_wait(cli: Cli, records: Records):
    records({"spark.executor.memory": "1g"}, source=ConfigSource.RUN_CONFIG)

    assert rows(cli, f"describe {REPORT}")["spark.executor.memory"]["pending"] is None


def test_a_refused_try_applied_nothing(cli: Cli, records: Records):
    records({"spark.executor.memory": "1g"})
    records({"spark.executor.memory": "99g"}, number=2, problems=("A policy denies it.",))

    assert rows(cli, f"describe {REPORT}")["spark.executor.memory"]["applied"] == "1g"


def test_without_a_record_nothing_is_said_about_what_is_applied(cli: Cli):
    assert "applied" not in rows(cli, f"describe {REPORT}")["spark.executor.memory"]
