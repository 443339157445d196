"""The commands that audit records, on a real database, with a local Spark."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("airflow.models.task_state_store", reason="the state of tasks came with Airflow 3.3")
pytest.importorskip("pyspark.sql.session")

from airflow_config_providers.cli.audit_records import changed_by
from airflow_config_providers.cli.command_table import commands
from airflow_config_providers.core.alter import ConfigResource, ResourceType
from airflow_config_providers.core.layers import ConfigSource
from airflow_config_providers.deployment.rows import Row
from airflow_config_providers.spark.audit.records.history_audit import KINDS
from airflow_config_providers.spark.audit.records.past_records import CONFIGS
from tests.cli.conftest import Cli, Driver, Ended
from tests.cli.recorded import Records
from tests.cli.test_docs import codes, examples
from tests.docs.pages import ROOT, snippets
from tests.spark.audit.records.past import QUICK, Past

pytestmark = pytest.mark.slow

MEMORY = "spark.executor.memory"
LATER = "2999-11-23T17:00:00.000+00:00"
"""A moment after every change that a test makes."""
PASSWORD = "${vault:apps/db:password}"
PAGES = [ROOT / "docs" / name for name in ("reference/commands-audits.md", "how-to/audit-history.md")]
AT_MOST_4G = "policies: [{name: small, class: bounds, params: {spark.executor.memory: {max: 4g}}}]"


@pytest.fixture(scope="module", autouse=True)
def session(driver: Driver) -> Iterator[None]:
    with driver.session({**CONFIGS, **QUICK}):
        yield


@pytest.fixture
def past(tmp_path: Path) -> Past:
    return Past(tmp_path / "records")


def audit(cli: Cli, words: str, *more: str, **settings: str) -> Ended:
    quick = [word for key, value in QUICK.items() for word in ("--conf", f"{key}={value}")]
    return cli("audit", *shlex.split(words), *more, "--master", "local[2]", *quick, **settings)


def lines(done: Ended) -> list[Any]:
    return [json.loads(line) for line in done.out.splitlines()]


def test_findings_are_a_json_object_a_line(cli: Cli, past: Past):
    past({MEMORY: "4g"}, run="r1", day=1)
    past({MEMORY: "8g"}, run="r2", day=2)

    done = audit(cli, f"history --kind between-runs --records {past.folder} --no-database --output json")

    assert (done.code, done.errors) == (0, [])
    assert lines(done) == [
        {
            "kind": "between-runs",
            "dag": "flights",
            "task": "report",
            "key": MEMORY,
            "detail": "`4g` (DAG_CONFIG, conf), then `8g` (DAG_CONFIG, conf)",
            "runs": 1,
            "first": "2026-11-02T12:00:00.000+00:00",
            "last": "2026-11-02T12:00:00.000+00:00",
        }
    ]


def test_without_the_database_it_is_said_what_is_unknown(cli: Cli, past: Past):
    past({})

    done = audit(cli, f"history --kind between-runs --records {past.folder} --no-database")

    assert done.out == "Nothing found.\n"
    assert done.notes == [
        "Airflow's database was not read: runs that failed after they were submitted, who changed what, and "
        "unused keys are unknown."
    ]


def test_records_of_the_database_are_read_and_kept(cli: Cli, records: Records, tmp_path: Path):
    records({MEMORY: "4g"}, run="r1", at="2026-11-23T17:00:00.000+00:00")
    records({MEMORY: "8g"}, run="r2", at="2026-11-23T18:00:00.000+00:00")
    words = f"history --kind between-runs --parquet {tmp_path / 'parquet'} --output json"

    before = lines(audit(cli, words))
    records.run()
    again = lines(audit(cli, words))

    assert [row["key"] for row in before] == [MEMORY]
    assert again == before


NOT_FROM_DATABASE = "and not from Airflow's database, where the first is of 2026-11-23 17:00 UTC"


@pytest.mark.parametrize(
    ("files", "options", "noted"),
    [
        pytest.param([24], "", [True], id="later-files"),
        pytest.param([], "", [True, False], id="no-file"),
        pytest.param([22, 24], "", [], id="earlier-files"),
        pytest.param([24], "--since 2026-11-24", [], id="of-days-that-both-have"),
        pytest.param([24], "--dag other", [False], id="of-another-dag"),
        pytest.param([24], "--no-database", [], id="without-the-database"),
    ],
)
def test_earlier_runs_in_the_database_are_noted_if_the_deployment_s_own_files_are_read(
    cli: Cli, records: Records, past: Past, files: list[int], options: str, noted: list[bool]
):
    records({MEMORY: "4g"}, run="earlier")
    past.folder.mkdir()
    for day in files:
        past({MEMORY: "4g"}, run=f"r{day}", day=day)

    done = audit(cli, f"references {options}", records_path=str(past.folder))

    assert [NOT_FROM_DATABASE in note for note in done.notes] == noted


def test_a_folder_that_the_command_names_is_read_without_a_note(cli: Cli, records: Records, past: Past):
    records({MEMORY: "4g"}, run="earlier")
    past({MEMORY: "4g"}, day=24)

    assert audit(cli, f"references --records {past.folder}").notes == []


def test_who_changed_what_before_a_failure_began_is_told(cli: Cli, records: Records):
    cli(f"alter --dag flights --add-config {MEMORY}=8g")
    dynamic = {"source": ConfigSource.DYNAMIC_DAG_CONFIG}
    records({MEMORY: "4g"}, run="r1", at="2026-11-23T17:00:00.000+00:00")
    records(
        {MEMORY: "8g"}, run="r2", at="2026-11-23T18:00:00.000+00:00", origin="dynamic flights, version 1", **dynamic
    )
    records.ended("r1", "success", at="17:00")
    records.ended("r2", "failed", at="18:00")

    (row,) = lines(audit(cli, "history --kind before-failure --output json"))

    assert row["key"] == MEMORY
    assert re.search(r"; changed by \S+ at \d{4}-\d\d-\d\d \d\d:\d\d UTC$", row["detail"])


def test_the_history_of_a_resource_is_read_once_for_all_findings():
    asked: list[ConfigResource] = []

    def history(resource: ConfigResource) -> list[Row]:
        asked.append(resource)
        return []

    before, after = (f"DYNAMIC_DAG_CONFIG, dynamic configuration of DAG 'flights', version {n}" for n in (1, 2))
    finding = {
        "kind": "before-failure",
        "dag": "flights",
        "task": "report",
        "before_layer": before,
        "after_layer": after,
    }
    changed_by([{**finding, "key": f"spark.app.{name}"} for name in "abc"], history)

    assert asked == [ConfigResource(ResourceType.DAG, "flights")]


def test_keys_of_dynamic_configuration_that_no_run_had_are_found(cli: Cli, records: Records):
    cli(f"alter --dag flights --add-config {MEMORY}=8g,spark.app.b=1")
    records({MEMORY: "8g"}, source=ConfigSource.DYNAMIC_DAG_CONFIG, at=LATER)

    (row,) = lines(audit(cli, "history --kind unused --output json"))

    assert (row["dag"], row["task"], row["key"]) == ("flights", "", "spark.app.b")
    assert row["detail"].startswith("`1` (DYNAMIC_DAG_CONFIG, dynamic configuration of DAG 'flights', version ")
    assert "), set by " in row["detail"]


def test_a_change_that_waits_for_the_next_run_is_not_unused(cli: Cli, records: Records):
    cli("alter --dag flights --add-config spark.app.b=1")
    records({MEMORY: "8g"})

    assert audit(cli, "history --kind unused").out == "Nothing found.\n"


def test_an_unused_secret_is_not_shown(cli: Cli, records: Records):
    cli("alter --dag flights --add-config spark.app.password=c4nary")
    records({MEMORY: "8g"}, at=LATER)

    done = audit(cli, "history --kind unused")

    assert "[hidden]" in done.out
    assert "c4nary" not in done.out + done.err


def test_a_file_that_is_no_record_is_named_without_control_characters(cli: Cli, past: Past):
    past({"spark.a": "1"})
    past.text("{", "odd\x1b[31m")

    done = audit(cli, f"history --kind between-runs --records {past.folder} --no-database")

    assert done.code == 0
    assert any("odd\\x1b[31m.jsonl has no record: Line 1 is no record." in note for note in done.notes)


def test_what_could_not_be_read_of_another_environment_is_noted(cli: Cli, past: Past, tmp_path: Path):
    past({"spark.a": "1"})
    staging, page = Past(tmp_path / "staging"), tmp_path / "page.html"
    staging.text("{", "odd")

    words = f"history --kind between-environments --records {past.folder} --against {staging.folder}"
    done = audit(cli, f"{words} --no-database --report {page}")

    assert any(note.startswith(f"{staging.folder}: ") and "odd.jsonl has no record" in note for note in done.notes)
    assert "files without a record to compare with" in page.read_text()
    assert "odd.jsonl has no record" in page.read_text()


def test_names_and_values_of_others_steer_no_terminal(cli: Cli, past: Past):
    past({"spark.a": "1"}, run="r1", day=1)
    past({"spark.a": "<b>\x1b[31m"}, run="r2", day=2)

    done = audit(cli, f"history --kind between-runs --records {past.folder} --no-database --output plain")

    assert "`<b>\\x1b[31m`" in done.out
    assert "\x1b" not in done.out


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        pytest.param("--since yesterday", "--since 'yesterday' is not a day. Write it as 2026-11-01.", id="day"),
        pytest.param("--no-database", "--no-database leaves no records to read. Add --records PATH.", id="nothing"),
    ],
)
def test_wrong_options_are_refused(cli: Cli, words: str, problem: str):
    done = audit(cli, f"history {words}")

    assert (done.code, done.errors) == (2, [problem])


def test_a_path_that_is_not_there_is_an_error(cli: Cli):
    done = audit(cli, "history --records /nowhere --no-database")

    assert done.code == 3
    assert done.errors == [
        "The folder of the records does not exist. Correct --records or --against, or those of an operator, "
        "or [config_providers] records_path; a path without a scheme, such as s3a://, is a folder of this machine."
    ]


def test_a_dag_without_records_is_named_in_a_note(cli: Cli, past: Past):
    past({})

    done = audit(cli, f"history --kind between-runs --records {past.folder} --no-database --dag another")

    assert (done.code, done.out) == (0, "Nothing found.\n")
    assert done.notes[0] == (
        "No record was found, so nothing was audited. Check the path of the records, the first day and the DAG."
    )


@pytest.mark.parametrize(
    ("memory", "odd", "code"),
    [
        pytest.param("2g", False, 0, id="none-stopped"),
        pytest.param("8g", False, 1, id="some-stopped"),
        pytest.param("8g", True, 2, id="not-all-read"),
    ],
)
def test_the_code_says_what_policies_would_have_done(
    cli: Cli, past: Past, tmp_path: Path, memory: str, odd: bool, code: int
):
    (tmp_path / "policies.yaml").write_text(AT_MOST_4G)
    past({MEMORY: memory})
    if odd:
        past.text("{")

    done = audit(cli, f"policies {tmp_path / 'policies.yaml'} --records {past.folder} --output json")

    assert done.code == code, done.err
    assert [(row["policy"], row["dag"], row["owner"]) for row in lines(done)] == (
        [("small", "flights", "airflow")] if code else []
    )


def test_what_a_policy_only_warns_of_is_listed_and_stops_nothing(cli: Cli, past: Past, tmp_path: Path):
    (tmp_path / "policies.yaml").write_text(AT_MOST_4G.replace("class:", "enforcement: warn, class:"))
    past({MEMORY: "8g"})

    done = audit(cli, f"policies {tmp_path / 'policies.yaml'} --records {past.folder} --output json")

    assert done.code == 0, done.err
    assert [(row["policy"], row["enforcement"], row["runs"]) for row in lines(done)] == [("small", "warn", 1)]
    assert "Policies that only warn would have warned of 1 run." in done.err


def test_policies_that_cannot_be_opened_are_an_error(cli: Cli, past: Past, tmp_path: Path):
    (tmp_path / "policies.yaml").write_text("policies: [{name: x, class: nosuch}]")
    past({})

    assert audit(cli, f"policies {tmp_path / 'policies.yaml'} --records {past.folder}").code == 3


def test_references_are_listed_with_what_is_known_of_them(cli: Cli, past: Past, tmp_path: Path):
    (tmp_path / "known.txt").write_text("${vault:apps/db:unread}\n")
    for day, (dag, digest) in enumerate((("billing", "1"), ("flights", "2")), 1):
        past({"spark.a": PASSWORD}, dag=dag, day=day, references={PASSWORD: digest}, key_id="k")
    past({}, task="other", references={"${vault:apps/web:token}": "1"}, key_id="k")

    done = audit(
        cli, f"references '${{vault:apps/db:*}}' --known {tmp_path / 'known.txt'} --records {past.folder} --output json"
    )

    found = [(row["reference"], row["finding"], row["generations"], row["older"]) for row in lines(done)]
    assert found == [
        (PASSWORD, ["shared", "older values"], 2, ["billing.report"]),
        ("${vault:apps/db:unread}", ["unread"], None, []),
    ]


def test_each_run_that_used_a_reference_is_listed_in_order_of_time(cli: Cli, past: Past, tmp_path: Path):
    parquet = pytest.importorskip("pyarrow.parquet")
    past({"spark.a": PASSWORD}, run="r2", day=2, number=2, references={PASSWORD: "2"}, key_id="k")
    past({"spark.a": PASSWORD}, run="r1", day=1, dag="billing", problems=["denied"])
    past({}, task="other", references={"${vault:apps/web:token}": "1"}, key_id="k")
    page, table = tmp_path / "page.html", tmp_path / "found.parquet"
    files = f"--report {page} --output-parquet {table}"
    words = f"references '${{vault:apps/db:*}}' --runs --records {past.folder} --no-database"

    done = audit(cli, f"{words} --output json {files}")

    first = {"reference": PASSWORD, "dag": "billing", "task": "report", "map_index": -1, "run": "r1", "try": 1}
    second = {**first, "dag": "flights", "run": "r2", "try": 2}
    assert lines(done) == [
        {**first, "at": "2026-11-01T12:00:00.000+00:00", "hash": None, "refused": True},
        {**second, "at": "2026-11-02T12:00:00.000+00:00", "hash": "2", "refused": False},
    ]
    assert parquet.read_table(table).to_pylist() == lines(done)
    assert "2026-11-02 12:00" in page.read_text()
    assert audit(cli, f"{words} --output plain").out.count("report") == 2


def test_a_reference_without_hashes_is_noted_only_if_it_is_listed(cli: Cli, past: Past):
    past({"spark.a": PASSWORD}, references={PASSWORD: "1"}, key_id="k")
    past({}, task="other", references={"${vault:apps/web:token}": None})

    noted = [
        audit(cli, f"references '{pattern}' --records {past.folder} --no-database").notes for pattern in ("*", PASSWORD)
    ]

    assert [["generations are not known" in note for note in notes] for notes in noted] == [[True], []]


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"problems": ["denied"]}, id="refused"),
        pytest.param({"key_id": "k"}, id="resolved-in-the-driver"),
    ],
)
def test_a_reference_that_cannot_have_a_hash_is_not_noted(cli: Cli, past: Past, fields: dict[str, Any]):
    past({"spark.a": PASSWORD}, **fields)

    assert audit(cli, f"references --records {past.folder} --no-database").notes == []


@pytest.mark.parametrize(
    ("words", "title"),
    [
        pytest.param("history", "History of the configuration", id="history"),
        pytest.param("policies policies.yaml", "What the policies would have stopped", id="policies"),
        pytest.param("references", "Who uses which reference", id="references"),
    ],
)
def test_findings_are_written_as_a_page_and_as_parquet(cli: Cli, past: Past, tmp_path: Path, words: str, title: str):
    parquet = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "policies.yaml").write_text(AT_MOST_4G)
    for day, memory in enumerate(("4g", "8g"), 1):
        past({MEMORY: memory, "spark.a": PASSWORD}, run=f"r{day}", day=day)
    page, table = tmp_path / "page.html", tmp_path / "found.parquet"
    options = f"--records {past.folder} --no-database --output json --report {page} --output-parquet {table}"

    done = audit(cli, f"{words.replace('policies.yaml', str(tmp_path / 'policies.yaml'))} {options}")

    assert f"<h1>{title}</h1>" in page.read_text()
    assert "<td>records</td>" in page.read_text()
    assert str(past.folder) in page.read_text()
    assert ("So before-failure and only-in-failed know only of" in page.read_text()) == (words == "history")
    assert parquet.read_table(table).to_pylist() == lines(done)
    assert len(lines(done)) == 1


def test_a_page_that_cannot_be_written_is_an_error(cli: Cli, past: Past, tmp_path: Path):
    past({})

    done = audit(cli, f"history --records {past.folder} --no-database --report {tmp_path}")

    assert done.code == 3
    assert done.errors == [f"--report {tmp_path} cannot be written: Is a directory. Name another file."]


def test_no_plaintext_secret_is_in_a_page_or_in_parquet(cli: Cli, past: Past, tmp_path: Path):
    secret = "c4nary-of-the-pages"
    for day in (1, 2):
        past({"spark.app.password": f"{secret}{day}", MEMORY: f"{day}g"}, run=f"r{day}", day=day)
    page, table = tmp_path / "page.html", tmp_path / "found.parquet"

    words = f"history --kind between-runs --records {past.folder} --no-database"
    audit(cli, f"{words} --report {page} --output-parquet {table}")

    assert MEMORY in page.read_text()
    assert secret not in page.read_text()
    assert secret.encode() not in table.read_bytes()


def test_each_kind_of_finding_can_be_chosen():
    (group,) = commands()
    audits = next(one for one in group.subcommands if one.name == "audit")
    history = next(one for one in audits.subcommands if one.name == "history")

    assert next(arg.kwargs["choices"] for arg in history.args if arg.flags == ("--kind",)) == KINDS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_of_the_pages_run(cli: Cli, records: Records, page: Path):
    home = cli.deployment.home
    staging = Past(home / "staging")
    staging({MEMORY: "2g"})
    records({MEMORY: "8g"}, references={PASSWORD: "1"}, key_id="k")
    (home / "references.txt").write_text(PASSWORD)
    (home / "policies.yaml").write_text(AT_MOST_4G)
    for snippet in snippets(page):
        if snippet.title:
            (home / snippet.title).write_text(snippet.text)
    wanted = [one for snippet in snippets(page) if snippet.language == "sh" for one in examples(snippet.text)]
    for example in wanted:
        command, _, tail = example.partition(" ")
        if command == "audit" and not tail.startswith("leaks"):
            done = audit(cli, tail.partition(" #")[0], *of_one_kind(tail))
            assert done.code in codes(example), f"{example}: {done.err}"


def of_one_kind(words: str) -> tuple[str, ...]:
    """Return the option with which a history takes a fifth of the time; one that is compared has all kinds."""
    is_long = words.startswith("history ") and not {"--against", "--kind"} & set(words.split())
    return ("--kind", "between-runs") if is_long else ()
