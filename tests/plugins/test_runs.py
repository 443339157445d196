"""What a run had, through the server."""

from __future__ import annotations

import shlex

import pytest

pytest.importorskip("airflow.models.task_state_store", reason="the state of tasks came with Airflow 3.3")

from airflow_config_providers.core.layers import ConfigSource
from airflow_config_providers.job.records.entries import packed
from airflow_config_providers.job.records.record import RecordedValue, TaskTry, TryRecord
from tests.cli.conftest import Cli
from tests.cli.recorded import RUN, Records
from tests.plugins.serving import Server

ROUTE = f"/dags/flights/tasks/report/runs/{RUN.replace('+', '%2B')}"


def test_a_try_is_described(server: Server, records: Records):
    for number in (1, 2):
        records({"spark.app.a": str(number)}, number=number, job=f"driver-{number}")
    content = server.ask("ann", "GET", ROUTE, params={"try": 1}).json()

    assert [(row["key"], row["value"]) for row in content["rows"]] == [("spark.app.a", "1")]
    assert "driver-1" in content["notes"][0]


@pytest.mark.parametrize(
    ("task", "source", "change"),
    [
        pytest.param(
            "report", ConfigSource.STATIC_FILE_CONFIG, "not read here", id="file that the server does not read"
        ),
        pytest.param("files", ConfigSource.STATIC_FILE_CONFIG, "only a run knows", id="file that a run chooses"),
        pytest.param("report", ConfigSource.DAG_CONFIG, "removed", id="conf"),
    ],
)
def test_a_key_of_a_file_that_is_not_read_is_not_called_removed(
    server: Server, records: Records, task: str, source: ConfigSource, change: str
):
    records({"spark.app.gone": "1"}, task=task, source=source)
    path = f"/dags/flights/tasks/{task}/runs/{RUN.replace('+', '%2B')}/differences"
    found = {row["key"]: row["change"] for row in server.ask("ann", "GET", path).json()["rows"]}

    assert found["spark.app.gone"] == change


def test_synonyms_are_only_for_those_who_ask(server: Server, records: Records):
    records({"spark.app.a": "1"})

    assert "synonyms" not in server.ask("ann", "GET", ROUTE).json()["rows"][0]
    assert "synonyms" in server.ask("ann", "GET", ROUTE, params={"synonyms": "true"}).json()["rows"][0]


def test_the_first_keys_of_a_try_are_described_alone(server: Server, records: Records):
    records({"spark.app.c": "3", "spark.app.a": "1", "spark.app.b": "2"})
    content = server.ask("ann", "GET", ROUTE, params={"first": 2}).json()

    assert [row["key"] for row in content["rows"]] == ["spark.app.a", "spark.app.b"]


def test_of_the_first_keys_no_other_is_reported_as_gone(server: Server, records: Records):
    """The last job had it, as it had the other keys that were not asked for."""
    records({"spark.app.a": "1"})
    path = "/dags/flights/tasks/report"
    few, all_ = (server.ask("ann", "GET", path, params=query).json() for query in ({"first": 1}, {}))

    assert [len(few["rows"]), len(all_["rows"]) > 1] == [1, True]
    assert few["rows"] == all_["rows"][:1]
    assert any("which the next one will not have" in note for note in all_["notes"])
    assert not any("which the next one will not have" in note for note in few["notes"])


def test_at_least_one_key_must_be_asked_for(server: Server):
    assert server.ask("ann", "GET", "/dags/flights", params={"first": 0}).status_code == 400


@pytest.mark.parametrize(
    ("path", "query"),
    [
        pytest.param(ROUTE, {"map_index": 2**31}, id="map-index"),
        pytest.param(ROUTE, {"map_index": 10**30}, id="huge-map-index"),
        pytest.param("/dags/flights/tasks/report/runs/%00", {}, id="run-with-nul"),
        pytest.param(f"{ROUTE}/differences", {"with": "\0"}, id="other-run-with-nul"),
        pytest.param("/dags/flights/tasks/%00/runs", {}, id="task-with-nul"),
    ],
)
def test_what_no_database_can_have_is_unknown(server: Server, records: Records, path: str, query: dict[str, object]):
    records({"spark.app.a": "1"})
    answer = server.ask("viewer", "GET", path, params=query)

    assert (answer.status_code, answer.json()["kind"]) == (404, "unknown")


def test_a_task_that_no_database_can_have_is_not_told_as_a_missing_dag(server: Server):
    answer = server.ask("viewer", "GET", "/dags/flights/tasks/report%00")

    assert answer.json()["problems"][0].startswith(r"DAG 'flights' has no task 'report\x00'.")


@pytest.mark.parametrize("path", [ROUTE, f"{ROUTE}/differences", "/dags/flights/tasks/report/runs"])
def test_a_user_who_may_not_read_task_instances_sees_no_run(server: Server, records: Records, path: str):
    """``gus`` may read the DAG. Airflow shows the state of a task, which records are in, to no such user."""
    records({"spark.app.a": "of the run"})
    answer = server.ask("gus", "GET", path)

    assert (answer.status_code, answer.json()["kind"]) == (403, "forbidden")


def test_a_user_who_may_not_read_task_instances_sees_not_what_the_last_job_had(server: Server, records: Records):
    records({"spark.executor.memory": "9g", "spark.app.gone": "of the run"})
    answer = server.ask("gus", "GET", "/dags/flights/tasks/report")

    assert answer.status_code == 200
    assert "applied" not in answer.json()["rows"][0]
    assert not [text for text in ("9g", "spark.app.gone") if text in answer.text]
    assert any("permission to read the task instances" in note for note in answer.json()["notes"])


def test_of_a_mapped_task_the_instance_must_be_chosen(server: Server, records: Records):
    for index in (3, 4):
        records({"spark.app.a": str(index)}, task="each", map_index=index)
    route = f"/dags/flights/tasks/each/runs/{RUN}"
    problem = server.ask("ann", "GET", route).json()["problems"][0]

    assert problem.endswith("2 of its instances have a record in this run. Choose one by its map index, such as 3.")
    assert server.ask("ann", "GET", route, params={"map_index": 3}).json()["rows"][0]["value"] == "3"


def test_a_key_that_the_job_did_not_have_is_refused_in_words_that_fit_a_request(server: Server, records: Records):
    records({"spark.app.a": "1"})
    answer = server.ask("ann", "GET", ROUTE, params={"key": "spark.app.b"}).json()

    assert answer["problems"] == [
        "The job had no key 'spark.app.b', did you mean 'spark.app.a'? Correct the name, or ask for all keys."
    ]


PASSWORD, TOKEN = "${vault:apps/db:password}", "${vault:apps/web:token}"


def test_references_are_listed_with_the_tasks_that_use_them(server: Server, records: Records):
    records({"spark.app.p": PASSWORD, "spark.app.t": TOKEN})
    content = server.ask("ann", "GET", "/references", params={"pattern": "${vault:apps/db:*}"}).json()

    assert [(row["reference"], row["dag"], row["task"]) for row in content["rows"]] == [(PASSWORD, "flights", "report")]
    assert "1 of 1 job left no hash of the value" in content["notes"][0]


def test_references_of_a_dag_whose_runs_the_user_may_not_read_are_left_out(server: Server, records: Records):
    task = TaskTry("billing", "invoices", RUN)
    configs = {"spark.app.p": [RecordedValue("DAG_CONFIG", "conf", PASSWORD)]}
    records.entries(task, packed(TryRecord(task, "", configs, {PASSWORD: "hash"}, "key")))

    assert server.ask("ben", "GET", "/references").json()["rows"] != []
    assert server.ask("ann", "GET", "/references").json() == {
        "resource": "the DAGs that you may read",
        "rows": [],
        "notes": [],
    }


@pytest.mark.parametrize("words", ["references", "references '${vault:apps/w*' --output json"])
def test_references_are_the_same_with_and_without_the_server(server: Server, cli: Cli, records: Records, words: str):
    records({"spark.app.p": PASSWORD, "spark.app.t": TOKEN})
    there = cli.airflow("config-providers", *shlex.split(words), environ=server.environ("ann"))
    here = cli(words)

    assert (there.code, there.out, there.err) == (0, here.out, here.err)


@pytest.mark.parametrize("query", [{"try": "x"}, {"try": "0"}, {"map_index": "-2"}], ids=str)
def test_a_parameter_that_is_wrong_is_refused(server: Server, query: dict[str, str]):
    assert server.ask("ann", "GET", ROUTE, params=query).status_code == 400


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(f"--run {RUN} --output json", id="run"),
        pytest.param(f"--run {RUN} --diff 1 2 --output json", id="tries"),
        pytest.param(f"--diff {RUN} now --output json", id="now"),
        pytest.param("--output json", id="applied"),
        pytest.param("--output plain", id="applied-plain"),
    ],
)
def test_a_command_prints_the_same_with_and_without_the_server(server: Server, cli: Cli, records: Records, words: str):
    """The task has no files, which the server would not open."""
    records(
        {"spark.app.url": "1g", "spark.app.password": "literal", "spark.app.token": "x"}, task="tuned"
    )  # two are hidden
    hidden = {"spark.app.password": "literal", "spark.app.url": "jdbc:x?password=literal"}
    records({"spark.app.x": "2g", **hidden}, task="tuned", number=2)
    asked = f"describe --dag flights --task tuned {words}"
    there = cli.airflow("config-providers", *asked.split(), environ=server.environ("ann"))

    assert (there.code, there.out) == (0, cli(asked).out)
