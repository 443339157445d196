"""``audit leaks``, with real Spark, a real database and real files."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("airflow.models.task_state_store", reason="the state of tasks came with Airflow 3.3")

from airflow_config_providers.job.records.record import TaskTry
from tests.cli.conftest import Cli, Driver
from tests.cli.leak_audits import VALUE, Audit
from tests.cli.recorded import RUN, records_in
from tests.spark.audit.records.past import QUICK

pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.fixture(scope="module", autouse=True)
def session(driver: Driver) -> Iterator[None]:
    """The session of all audits of this file; those in object stores have sessions of their own."""
    with driver.session(QUICK):
        yield


@pytest.fixture
def audit(cli: Cli, tmp_path: Path) -> Audit:
    return Audit(cli, tmp_path)


def test_a_leak_is_one_line_of_json_and_exit_code_1(audit: Audit) -> None:
    (audit.logs / "a.log").write_text(f"first\npw={VALUE}\n")

    [row] = audit.rows()

    assert {name: row[name] for name in ("file", "offset", "line", "reference", "encoding", "age")} == {
        "file": str(audit.logs / "a.log"),
        "offset": 9,
        "line": 2,
        "reference": audit.reference("password"),
        "encoding": "plain",
        "age": "current",
    }
    assert len(row["id"]) == 20


@pytest.mark.parametrize("output", ["plain", "json"])
def test_an_audit_that_finds_leaks_says_that_only_current_values_were_searched_for(audit: Audit, output: str) -> None:
    (audit.logs / "a.log").write_text(VALUE)

    done = audit("--output", output)

    assert done.code == 1
    assert done.err.endswith(": 1 leak. Only current values were searched for.\n")


def test_a_leak_in_parquet_has_a_column_and_a_row(audit: Audit) -> None:
    pa = pytest.importorskip("pyarrow")
    rows = [{"user": {"note": "nothing"}}, {"user": {"note": f"pw={VALUE}"}}]
    pytest.importorskip("pyarrow.parquet").write_table(pa.Table.from_pylist(rows), audit.logs / "a.parquet")

    [row] = audit.rows()
    done = audit()

    assert {name: row[name] for name in ("file", "column", "line", "offset")} == {
        "file": str(audit.logs / "a.parquet"),
        "column": "user.note",
        "line": 2,
        "offset": 3,
    }
    assert "user.note" in done.out
    assert VALUE not in done.out + done.err


def test_leaks_in_parquet_are_in_the_order_of_rows(audit: Audit) -> None:
    pa = pytest.importorskip("pyarrow")
    notes = ["far to the right: " + VALUE, "nothing", VALUE]
    pytest.importorskip("pyarrow.parquet").write_table(pa.table({"note": notes}), audit.logs / "a.parquet")

    assert [row["line"] for row in audit.rows()] == [1, 3]


def test_a_file_without_a_copy_is_not_called_unsearched(audit: Audit) -> None:
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(pa.table({"note": [VALUE]}), audit.logs / "a.parquet")

    done = audit("--reversed-copy", str(audit.folder / "copies"))

    assert done.code == 2
    assert done.notes == [f"{audit.logs}/a.parquet has no copy: References cannot replace the values in Parquet."]


def test_nothing_found_is_exit_code_0(audit: Audit) -> None:
    (audit.logs / "a.log").write_text("nothing here\n")

    done = audit()

    assert (done.code, done.out) == (0, "Nothing found.\n")
    assert "1 file with 13 bytes searched (1 read now): no leaks." in done.err


def test_what_could_not_be_read_is_exit_code_2(audit: Audit) -> None:
    (audit.logs / "a.log.gz").write_bytes(b"\x1f\x8b\x08broken")

    done = audit()

    assert (done.code, done.out) == (2, "Nothing found so far.\n")
    assert f"{audit.logs}/a.log.gz was not searched, or not all of it: Its" in done.notes[0]


def test_a_page_that_cannot_be_written_hides_no_leak(audit: Audit) -> None:
    (audit.logs / "a.log").write_text(VALUE)

    done = audit("--report", "/dev/full", "--output", "json")

    assert done.code == 3
    assert done.errors[-1] == "--report /dev/full cannot be written: No space left on device. Name another file."
    assert json.loads(done.out)["line"] == 1


def test_the_value_is_shown_nowhere(audit: Audit) -> None:
    (audit.logs / "a.log").write_text(VALUE)

    done = audit("--report", str(audit.folder / "report.html"), "--state", str(audit.folder / "state"))

    kept = [path.read_text() for path in audit.folder.rglob("*") if path.is_file() and path.parent.name != "secrets"]
    shown = (done.out, done.err, *(text for text in kept if text != VALUE))
    assert done.code == 1
    assert len(shown) >= 4
    assert not any(VALUE in text for text in shown)


def test_hostile_names_steer_no_terminal(audit: Audit) -> None:
    Path(os.fsdecode(os.fsencode(audit.logs) + b"/\xff\n\x1b[31m.log")).write_text(VALUE)
    Path(os.fsdecode(os.fsencode(audit.logs) + b"/\xff\n\x1b[31m.gz")).write_bytes(b"\x1f\x8b\x08")

    done = audit("--report", str(audit.folder / "report.html"))

    assert done.code == 2
    assert "\\udcff\\n\\x1b[31m.log" in done.out
    assert "\\udcff\\n\\x1b[31m.gz was not searched" in done.notes[0]
    assert "\x1b" not in done.out + done.err + (audit.folder / "report.html").read_text()


def test_the_references_of_the_records_are_searched_for(audit: Audit, cli: Cli) -> None:
    (audit.logs / "a.log").write_text(VALUE)
    with records_in(cli.deployment) as records:
        records({"spark.app.password": audit.reference("password")})

        assert [row["reference"] for row in audit.rows(records=True)] == [audit.reference("password")]


def test_references_that_are_no_secrets_are_left_out(audit: Audit) -> None:
    (audit.secrets / "user").write_text("canary-user")
    (audit.logs / "a.log").write_text(f"pw={VALUE}\nuser=canary-user\n")
    audit.names("password", "user")

    [row] = audit.rows("--except", "${dir:*:user}", "--report", str(audit.folder / "report.html"))

    assert row["reference"] == audit.reference("password")
    page = (audit.folder / "report.html").read_text()
    assert "<h2>What was audited</h2>" in page
    assert "<td>${dir:*:user}</td>" in page
    assert str(audit.logs) in page


def test_a_value_that_is_no_secret_is_not_reported_as_a_part_of_one(audit: Audit) -> None:
    (audit.secrets / "user").write_text("c4nary-us3r-of+the")
    (audit.secrets / "password").write_text("jdbc:c4nary-us3r-of+the:and-more")
    (audit.logs / "a.log").write_text("user=c4nary-us3r-of+the\n")
    audit.names("password", "user")

    assert audit.rows("--except", "${dir:*:user}", code=0) == []


def test_an_exception_that_matches_no_reference_is_named_in_a_note(audit: Audit) -> None:
    done = audit("--except", "dir:*:user", "--report", str(audit.folder / "report.html"))

    assert done.code == 0
    assert "No reference is like 'dir:*:user', so nothing is excepted by it." in done.notes
    assert "No reference is like &#x27;dir:*:user&#x27;" in (audit.folder / "report.html").read_text()


def test_an_exception_that_matches_only_an_earlier_value_in_the_state_is_not_in_vain(audit: Audit) -> None:
    state = str(audit.folder / "state")
    (audit.secrets / "user").write_text("canary-user")
    (audit.logs / "a.log").write_text("user=canary-user\n")
    audit.names("password", "user")
    audit("--state", state)
    audit.names("password")

    done = audit("--state", state, "--except", "${dir:*:user}", "--except", "")

    assert (done.code, done.notes) == (0, ["No reference is like '', so nothing is excepted by it."])


def test_an_exception_of_fingerprints_that_matches_none_is_named_in_a_note(audit: Audit) -> None:
    prints = str(audit.folder / "prints")
    audit("--write-fingerprints", prints)

    done = audit.unnamed("--fingerprints", prints, "--no-values", "--except", "${dir:*:user}")

    assert "No reference is like '${dir:*:user}', so nothing is excepted by it." in done.notes


def test_without_values_the_fingerprints_of_the_state_are_enough(audit: Audit) -> None:
    state = str(audit.folder / "state")
    (audit.logs / "a.log").write_text(VALUE)
    audit("--state", state)

    done = audit.unnamed("--no-values", "--state", state, "--output", "json")

    assert (done.code, json.loads(done.out)["age"]) == (1, "unknown"), done.err


def test_a_folder_without_files_is_named_in_a_note(audit: Audit) -> None:
    done = audit()

    assert (done.code, done.out) == (0, "Nothing found.\n")
    assert done.notes == ["Nothing was searched: there are no files below the paths, and no rows."]


def test_a_reference_without_a_value_is_named_and_the_others_are_searched_for(audit: Audit) -> None:
    audit.names("password", "gone")
    (audit.logs / "a.log").write_text(VALUE)

    done = audit("--output", "json")

    assert done.code == 2
    assert len(done.out.splitlines()) == 1
    assert done.notes == [f"{audit.reference('gone')} has no value now, so it is not searched for."]


def test_a_value_that_is_too_short_is_named(audit: Audit) -> None:
    (audit.logs / "a.log").write_text("nothing here\n")
    (audit.secrets / "pin").write_text("123")
    audit.names("password", "pin")

    done = audit()

    assert done.code == 0
    assert done.notes == [f"{audit.reference('pin')}: its value is too short or too common to be searched for."]


def test_the_output_of_an_audit_is_a_baseline_for_the_next(audit: Audit) -> None:
    (audit.logs / "a.log").write_text(VALUE)
    done = audit("--output", "json")
    (audit.folder / "accepted.jsonl").write_text(done.out)
    (audit.logs / "b.log").write_text(VALUE)

    rows = audit.rows("--baseline", str(audit.folder / "accepted.jsonl"))

    assert [Path(row["file"]).name for row in rows] == ["b.log"]


def test_a_baseline_does_not_accept_the_next_value_in_the_place_of_an_earlier_one(audit: Audit) -> None:
    accepted = audit.folder / "accepted.jsonl"
    (audit.logs / "a.log").write_text(VALUE)
    accepted.write_text(audit("--output", "json").out)
    (audit.secrets / "password").write_text("the-n3xt-value")
    (audit.logs / "a.log").write_text("the-n3xt-value")

    done = audit("--baseline", str(accepted))

    assert done.code == 1
    assert done.notes == ["The baseline has the id of 1 leak, but accepts another value there."]
    assert "fingerprint" not in done.out  # people need the width for the rest
    assert "column" not in done.out  # likewise


@pytest.mark.parametrize("secret", ["", "weak"])
def test_without_a_secret_for_fingerprints_a_baseline_accepts_any_value_in_its_places(
    audit: Audit, secret: str
) -> None:
    audit.encoder_secret = secret
    (audit.logs / "a.log").write_text(VALUE)
    [row] = audit.rows()
    (audit.folder / "accepted.jsonl").write_text(json.dumps(row))
    (audit.secrets / "password").write_text("the-n3xt-value")
    (audit.logs / "a.log").write_text("the-n3xt-value")

    assert row["fingerprint"] == ""
    assert audit.rows("--baseline", str(audit.folder / "accepted.jsonl"), code=0) == []


class TestFingerprints:
    def test_a_rotated_value_is_found_by_the_next_audit_with_the_same_state(self, audit: Audit) -> None:
        (audit.logs / "a.log").write_text(f"pw={VALUE}\n")
        audit.rows("--state", str(audit.folder / "state"))
        (audit.secrets / "password").write_text("the new passw0rd")
        (audit.logs / "b.log").write_text(f"{VALUE} the new passw0rd\n")

        rows = audit.rows("--state", str(audit.folder / "state"))

        assert [(Path(row["file"]).name, row["offset"], row["age"]) for row in rows] == [
            ("a.log", 3, "earlier"),
            ("b.log", 0, "earlier"),
            ("b.log", len(VALUE) + 1, "current"),
        ]

    def test_who_may_read_no_value_searches_with_fingerprints(self, audit: Audit) -> None:
        (audit.logs / "a.log").write_text(f"pw={VALUE}\n")
        prints = str(audit.folder / "prints")
        [known] = audit.rows("--write-fingerprints", prints)
        (audit.secrets / "password").unlink()

        done = audit.unnamed("--fingerprints", prints, "--no-values", "--output", "json")

        [row] = [json.loads(line) for line in done.out.splitlines()]
        assert row == {**known, "age": "unknown"}
        assert "Values of 1 reference were searched for by their fingerprints" in " ".join(done.notes)
        assert VALUE not in Path(prints).read_text() + done.out + done.err

    def test_the_fingerprints_of_another_deployment_are_refused(self, audit: Audit) -> None:
        (audit.logs / "a.log").write_text(VALUE)
        audit.rows("--write-fingerprints", str(audit.folder / "prints"))
        audit.encoder_secret = "the-secret-of-another-one"

        done = audit.unnamed("--fingerprints", str(audit.folder / "prints"), "--no-values")

        assert done.code == 3
        assert "were made with another key. Set [config_providers] password_encoder_secret" in done.err

    def test_tokens_need_no_reference(self, audit: Audit) -> None:
        (audit.logs / "a.log").write_text(f"token=glpat-{'aB1_-' * 4}\n")

        [row] = [json.loads(line) for line in audit.unnamed("--tokens", "--output", "json").out.splitlines()]

        assert (row["reference"], row["offset"], row["encoding"]) == ("[token: GitLab token]", 6, "plain")


def test_copies_have_the_references(audit: Audit) -> None:
    (audit.logs / "dag_id=x").mkdir()
    (audit.logs / "dag_id=x" / "a.log").write_text(f"pw={VALUE}\nrest\n")

    audit("--reversed-copy", str(audit.folder / "copies"))

    assert (audit.folder / "copies" / "dag_id=x" / "a.log").read_text() == (f"pw={audit.reference('password')}\nrest\n")


class TestDatabase:
    """The text in Airflow's database, which is SQLite here, and so is read without a driver for Spark."""

    TASK = TaskTry("flights", "report", RUN, -1, 1)

    def test_leaks_are_found_wherever_a_task_or_a_user_leaves_text(self, audit: Audit, cli: Cli) -> None:
        with records_in(cli.deployment) as database:
            database.conf({"password": VALUE})
            database.xcoms(self.TASK, {"result": {"url": f"x\n{VALUE}"}})
            database.entries(self.TASK, {"cursor": VALUE})
            database.rendered(self.TASK, {"env_vars": f"PW={VALUE}"})
            database.event(f"tasks run {VALUE}")

            rows = audit.rows("--database")

        assert {row["file"].split(":")[1] for row in rows} == {
            "xcom.value",
            "task_state_store.value",
            "rendered_task_instance_fields.rendered_fields",
            "dag_run.conf",
            "log.extra",
        }
        assert {row["reference"] for row in rows} == {audit.reference("password")}
        assert (
            f":dag_id=flights/run_id={RUN}/task_id=report/"
            in next(row for row in rows if "xcom" in row["file"])["file"]
        )

    def test_a_row_is_named_without_what_it_does_not_have(self, audit: Audit, cli: Cli) -> None:
        with records_in(cli.deployment) as database:
            database.event(f"users list {VALUE}")

            [row] = audit.rows("--database")

        assert re.fullmatch(r"database:log\.extra:id=\d+", row["file"])

    def test_a_clean_database_has_no_leaks(self, audit: Audit) -> None:
        done = audit("--database", paths=False)

        assert (done.code, done.out, done.notes) == (0, "Nothing found.\n", [])
        line = r"\n\d+ rows of Airflow's database with [\d,]+ bytes searched: no leaks\. "
        line += r"Only current values were searched for\.\n"
        assert re.search(line, f"\n{done.err}")

    def test_more_rows_than_are_read_at_a_time_are_all_searched(self, audit: Audit, cli: Cli) -> None:
        with records_in(cli.deployment) as database:
            database.xcoms(self.TASK, {f"key{number:04}": f"{VALUE} {number}" for number in range(1_205)})

            rows = audit.rows("--database")

        assert len({row["file"] for row in rows}) == 1_205

    def test_a_value_in_a_key_is_shown_nowhere(self, audit: Audit, cli: Cli) -> None:
        with records_in(cli.deployment) as database:
            database.xcoms(self.TASK, {VALUE: VALUE})

            done = audit("--database", "--output", "json", "--report", str(audit.folder / "report.html"))

        shown = done.out + done.err + (audit.folder / "report.html").read_text()
        assert len(done.out.splitlines()) == 2
        assert f"key={audit.reference('password')}" in shown
        assert VALUE not in shown

    def test_a_leak_in_a_table_that_an_executor_added_is_found(self, audit: Audit, cli: Cli) -> None:
        """The EdgeExecutor keeps the logs of tasks in Airflow's database."""
        with closing(sqlite3.connect(cli.deployment.home / "airflow.db", timeout=60)) as database:
            database.execute("create table edge_logs (dag_id text primary key, log_chunk_data text)")
            database.execute("insert into edge_logs values ('flights', ?)", (f"it got {VALUE}",))
            database.commit()
            try:
                [row] = audit.rows("--database")
            finally:
                database.execute("drop table edge_logs")
                database.commit()

        assert row["file"] == "database:edge_logs.log_chunk_data:dag_id=flights"

    def test_where_values_are_kept_on_purpose_is_not_searched(self, audit: Audit, cli: Cli) -> None:
        with records_in(cli.deployment) as database:
            database.variable(VALUE)

            assert audit("--database").code == 0

    def test_files_and_the_database_are_searched_together(self, audit: Audit, cli: Cli) -> None:
        (audit.logs / "a.log").write_text(VALUE)
        with records_in(cli.deployment) as database:
            database.conf({"a": VALUE})

            rows = audit.rows("--database")

        assert [row["file"].partition("/")[0] for row in rows] == ["", "database:dag_run.conf:dag_id=flights"]
