"""What a run had, by records in XComs, where Airflow 3.2 keeps them; on a real database of any version."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from typing import Any

import pytest

from airflow_config_providers.job.records.entries import job_key, packed, record_key
from airflow_config_providers.job.records.record import RecordedValue, TaskTry, TryRecord
from tests.cli.conftest import Cli
from tests.cli.recorded import RUN, Records
from tests.limits import LONGEST

REPORT = "--dag flights --task report"
PASSWORD = "${vault:apps/db:password}"


def kept(records: Records, configs: Mapping[str, str], *, run: str = RUN, **fields: Any) -> None:
    task = TaskTry("flights", "report", run)
    values = {key: [RecordedValue("DAG_CONFIG", "conf", text)] for key, text in configs.items()}
    records.xcoms(task, {**packed(TryRecord(task, "2026-11-23", values, **fields)), job_key(1): "driver-1"})


def test_a_run_is_described(cli: Cli, records: Records):
    kept(records, {"spark.app.a": "1"})
    done = cli(f"describe {REPORT} --run {RUN} --output json")

    assert [(row["key"], row["value"]) for row in done.rows] == [("spark.app.a", "1")]
    assert any("The id of its job is driver-1." in note for note in done.notes)


def test_what_the_last_job_had_is_compared(cli: Cli, records: Records):
    kept(records, {"spark.executor.memory": "1g"})
    rows = {row["key"]: row for row in cli.json(f"describe {REPORT}")}

    assert (rows["spark.executor.memory"]["applied"], rows["spark.executor.memory"]["pending"]) == ("1g", True)


def test_references_are_listed(cli: Cli, records: Records):
    kept(records, {"spark.app.p": PASSWORD}, references={PASSWORD: "a"}, key_id="k")

    assert [(row["reference"], row["task"], row["is_newest"]) for row in cli.json("references")] == [
        (PASSWORD, "report", True)
    ]


def test_a_failure_is_bisected(cli: Cli, records: Records):
    for run, state in (("a", "success"), ("b", "failed")):
        records.ended(run, state, at=f"0{ord(run) - 96}:00")
        kept(records, {"spark.app.a": run}, run=run)

    assert [(row["before"], row["after"]) for row in cli.json(f"bisect {REPORT}")] == [("a", "b")]


@pytest.mark.parametrize(
    "text", ["[" * 50_000 + "]" * 50_000, "1" * 5000, "{", "NaN"], ids=["deep", "long", "cut", "nan"]
)
def test_a_value_that_python_cannot_parse_is_no_record(cli: Cli, records: Records, text: str):
    records.xcoms(TaskTry("flights", "report", RUN), {record_key(1): {}})
    with closing(sqlite3.connect(cli.deployment.home / "airflow.db", timeout=LONGEST)) as database, database:
        database.execute("update xcom set value = ? where key = ?", [text, record_key(1)])
    done = cli(f"describe {REPORT} --run {RUN}")

    assert (done.code, len(done.errors)) == (3, 1)
    assert "cannot be read" in done.errors[0]
