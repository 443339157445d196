"""The demo runs, and its search finds what is left behind. Each test has a work directory of its own."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest

from dags_examples.demo import __main__ as demo
from dags_examples.demo.pipeline import TASKS
from dags_examples.demo.sampler import Sampler
from dags_examples.demo.search import Search, Secret
from dags_examples.demo.workspace import EXAMPLES, Workspace
from tests.examples.runs import INTERPRETED, places_of, run
from tests.servers.quick_java import QUICK_SPARK

pytestmark = [pytest.mark.integration, pytest.mark.slow]

EVERY, FLIGHTS = 100, 3_368
"""The demo has one flight of a hundred here, and that makes so many."""

LEAKY = f"""
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import DAG

with DAG("leaky"):
    SparkSubmitOperator(
        task_id="hello",
        application="{EXAMPLES}/jobs/hello.py",
        conf={{
            "spark.hello.name": "{{{{ var.value.greeting }}}}",
            "spark.hello.token": "none",
            "spark.ui.enabled": "false",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.compress": "false",
            "spark.eventLog.dir": "{{{{ var.value.flights_home }}}}/events",
        }},
    )
"""


def test_the_search_finds_what_the_stock_operator_leaves_behind(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "work")
    workspace.create()
    (workspace.root / "dags").mkdir()
    (workspace.root / "dags/leaky.py").write_text(LEAKY)
    given = {"AIRFLOW__CORE__DAGS_FOLDER": str(workspace.root / "dags"), "AIRFLOW_VAR_GREETING": "plain-for-everybody"}
    secret = Secret.of("secret", "plain-for-everybody")

    with Sampler(Search([secret])) as sampler:
        assert run(workspace, ["db", "migrate"], **given)[0] == 0
        assert run(workspace, ["dags", "test", "leaky"], **given)[0] == 0

    places = " ".join(places_of("plain-for-everybody", workspace))
    processes = {finding.place for finding in sampler.search.found}
    assert str(workspace.log) in places
    assert str(workspace.events) in places
    assert "table rendered_task_instance_fields, column rendered_fields" in places
    assert "process java, arguments" in processes


def test_the_demo_runs_the_flights_pipeline_and_finds_no_password(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    temp = tmp_path / "temp"  # to search what other tests write to that of the machine meanwhile could take minutes
    temp.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temp))
    monkeypatch.setenv("TMPDIR", str(temp))
    of_java = f"{QUICK_SPARK} {INTERPRETED} -Djava.io.tmpdir={temp}"
    monkeypatch.setenv("JDK_JAVA_OPTIONS", of_java)  # the demo keeps none of Spark's variables
    code = demo.main(["--dir", str(tmp_path / "demo"), "--output", "json", "--every", str(EVERY)])

    outcome = json.loads(capsys.readouterr().out)
    assert code == 0
    assert outcome["ok"]
    assert not (tmp_path / "demo").exists()
    assert outcome["audited"]["found"] == [outcome["audited"]["planted"]]
    assert "Nothing found." in (tmp_path / "demo-audit.html").read_text()
    flights = next(row for row in outcome["quality"] if row["dataset"] == "flights")
    assert flights["read"] == flights["accepted"] + flights["rejected"] == FLIGHTS
    winners = {(task, setting["key"]): setting["layer"] for task in TASKS for setting in outcome["configs"][task]}
    assert winners["report", "spark.flights.report.top"] == "RUN_CONFIG"
    assert winners["report", "spark.sql.shuffle.partitions"] == "ENVIRONMENT_CONFIG"
    assert winners["ingest", "spark.flights.quality.max.reject.ratio"] == "DAG_CONFIG"
    assert winners["join", "spark.flights.quality.max.reject.ratio"] == "STATIC_FILE_CONFIG"
    assert [len(rows) for rows in outcome["report"].values()] == [5, 5, 5]
