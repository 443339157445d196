"""Which tasks use a reference, on a real database."""

from __future__ import annotations

import pytest

pytest.importorskip("airflow.models.task_state_store", reason="the state of tasks came with Airflow 3.3")

from tests.cli.conftest import Cli
from tests.cli.recorded import Records

PASSWORD = "${vault:apps/db:password}"
USER = "${vault:apps/db:user}"
TOKEN = "${vault:apps/web:token}"


def used(records: Records, task: str, reference: str = PASSWORD, digest: str | None = "a", **fields: object) -> None:
    records({"spark.app.x": reference}, task=task, references={reference: digest}, **{"key_id": "k", **fields})


def test_each_task_that_uses_a_reference_is_listed(cli: Cli, records: Records):
    used(records, "report")
    used(records, "query", TOKEN)

    assert [(row["reference"], row["dag"], row["task"]) for row in cli.json("references")] == [
        (PASSWORD, "flights", "report"),
        (TOKEN, "flights", "query"),
    ]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        pytest.param("${vault:apps/db:*}", [PASSWORD, USER], id="keys-of-a-path"),
        pytest.param(TOKEN, [TOKEN], id="one"),
        pytest.param("${vault:apps/d*", [PASSWORD, USER], id="beginning"),
        pytest.param("*:nosuch}", [], id="none"),
    ],
)
def test_a_pattern_selects_references(cli: Cli, records: Records, pattern: str, expected: list[str]):
    for task, reference in (("a", PASSWORD), ("b", USER), ("c", TOKEN)):
        used(records, task, reference)

    assert [row["reference"] for row in cli.json("references", pattern)] == expected


def test_each_iteration_of_a_loop_has_its_own_references(cli: Cli, records: Records):
    if not records.has_loops:
        pytest.skip("loops came with Airflow 3.4")
    for index, reference in enumerate((PASSWORD, TOKEN)):
        used(records, "each", reference, map_index=index, region="1" * 32)

    assert [(row["reference"], row["map_index"]) for row in cli.json("references")] == [(PASSWORD, 0), (TOKEN, 1)]


def test_a_task_whose_last_job_had_the_old_value_is_found(cli: Cli, records: Records):
    used(records, "old", digest="a")
    used(records, "new", digest="b", number=2, at="2026-11-23T18:00:00.000+00:00")

    assert {row["task"]: row["is_newest"] for row in cli.json("references")} == {"old": False, "new": True}


def test_a_record_cannot_make_itself_the_newest(cli: Cli, records: Records):
    """What a record says of its time, a task could have written; Airflow's own time counts."""
    used(records, "forged", digest="a", at="2999-01-01T00:00:00.000+00:00")
    used(records, "true", digest="b", number=2)

    assert {row["task"]: row["is_newest"] for row in cli.json("references")} == {"forged": False, "true": True}


def test_a_secret_of_a_dag_bundle_is_compared_in_different_versions_of_the_bundle(cli: Cli, records: Records):
    for number, (task, digest) in enumerate((("old", "a"), ("renewed", "b"), ("new", "b")), 1):
        folder = f"/bundles/git/versions/{number}c0ffee"
        versions, dag_file = {"bundle": "git", "bundle_version": f"{number}c0ffee"}, f"{folder}/flights.py"
        reference = f"${{file:{folder}/x.properties:password}}"
        used(records, task, reference, digest, number=number, versions=versions, dag_file=dag_file)

    newest = {row["task"]: row["is_newest"] for row in cli.json("references")}
    assert newest == {"old": False, "renewed": True, "new": True}


@pytest.mark.parametrize(
    ("digest", "key_id"), [pytest.param(None, "", id="no-hash"), pytest.param("a", "other", id="another-key")]
)
def test_what_cannot_be_compared_is_neither_old_nor_new(cli: Cli, records: Records, digest: str | None, key_id: str):
    used(records, "old", digest=digest, key_id=key_id)
    used(records, "new", digest="b", number=2, at="2026-11-23T18:00:00.000+00:00")

    assert {row["task"]: row["is_newest"] for row in cli.json("references")} == {"old": None, "new": True}


def test_a_note_says_how_jobs_leave_hashes(cli: Cli, records: Records):
    used(records, "old", digest=None, key_id="")
    used(records, "new", digest="b", number=2)

    (note,) = cli("references").err.splitlines()
    assert note.startswith("note: 1 of 2 jobs left no hash of the value")
    assert "password_encoder_secret" in note


def test_with_all_hashes_there_is_no_note(cli: Cli, records: Records):
    used(records, "report")

    assert cli("references").err == ""


def test_only_the_last_job_of_a_task_counts(cli: Cli, records: Records):
    """A try that was refused, or that followed a job, had no job of its own."""
    used(records, "report", digest="a")
    used(records, "report", digest="b", number=2)
    used(records, "report", digest="c", number=3, problems=("no",))
    used(records, "report", digest="d", number=4, follows=2)

    assert [(row["try"], row["hash"]) for row in cli.json("references")] == [(2, "b")]


def test_without_records_people_are_told_so(cli: Cli):
    assert cli("references '${vault:x:y}'").out == "No task has a record with a reference like ${vault:x:y}.\n"


def test_a_pattern_that_no_reference_can_match_is_told_how_to_write_one(cli: Cli):
    assert cli("references vault").out == (
        "No task has a record with a reference like vault. A pattern is a whole reference, such as "
        "'${vault:apps/db:*}', in which * is any text.\n"
    )
