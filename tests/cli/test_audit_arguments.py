"""What is wrong with the arguments of audits, which is said before Spark starts."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("airflow.models.task_state_store", reason="the state of tasks came with Airflow 3.3")

from tests.cli.conftest import Cli
from tests.cli.leak_audits import VALUE, Audit
from tests.cli.recorded import records_in

NO_MASTER = "no-master-of-spark"
"""With it, Spark does not start."""


@pytest.fixture
def audit(cli: Cli, tmp_path: Path) -> Audit:
    return Audit(cli, tmp_path, NO_MASTER)


def test_without_any_reference_the_command_says_how_to_name_some(audit: Audit, cli: Cli) -> None:
    with records_in(cli.deployment):
        done = audit(records=True)

    assert done.code == 2
    assert done.errors == ["No record has a reference to search for. Name a file with references: --references FILE."]


def test_without_records_and_a_file_the_option_is_named(audit: Audit) -> None:
    done = audit.unnamed()

    assert done.code == 2
    assert done.errors == [
        "--no-records leaves no reference to search for. Name a file with references: --references FILE."
    ]


def test_without_values_a_state_without_fingerprints_has_nothing_to_search_for(audit: Audit) -> None:
    done = audit.unnamed("--no-values", "--state", str(audit.folder / "state"))

    assert done.code == 3
    assert done.errors == ["There is no value to search for, and --state has no fingerprints of earlier ones."]


def test_exceptions_that_leave_nothing_to_search_for_are_wrong_arguments(audit: Audit) -> None:
    done = audit("--except", "*")

    assert done.code == 2
    assert done.errors == ["--except leaves no reference to search for. Name fewer references there."]


@pytest.mark.parametrize("option", ["--report", "--output-parquet"])
def test_a_file_that_cannot_be_written_is_refused_before_the_search(audit: Audit, option: str) -> None:
    done = audit(option, "/nowhere/file", "--state", str(audit.folder / "state"))

    assert done.code == 3
    assert done.errors == [f"{option} /nowhere/file cannot be written: No such file or directory. Name another file."]
    assert not (audit.folder / "state").exists()


def test_a_state_with_a_folder_in_it_is_refused_before_the_search(audit: Audit) -> None:
    (audit.logs / "a.log").write_text(VALUE)
    state = audit.folder / "state"
    (state / "seen-x.jsonl").mkdir(parents=True)

    done = audit("--state", str(state))

    assert done.code == 3
    assert done.errors == [
        f"--state {state}: it has other files, such as seen-x.jsonl. Name an empty folder, or one of an earlier audit."
    ]


def test_without_paths_or_the_database_the_command_says_what_to_name(audit: Audit) -> None:
    done = audit(paths=False)

    assert done.code == 2
    assert done.errors == ["There is nothing to search. Name files or folders, or add --database."]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param(("--baseline", "/nowhere/x"), "The baseline /nowhere/x cannot be read", id="baseline"),
        pytest.param(("--references", "/nowhere/x"), "--references /nowhere/x: No such file", id="references"),
        pytest.param(("--references", "/dev/zero"), "--references /dev/zero: File too large", id="endless"),
        pytest.param(("--fingerprints", "/dev/zero"), "The fingerprints in /dev/zero cannot be", id="prints"),
        pytest.param(("--conf", "novalue"), "'novalue' is not KEY=VALUE", id="conf"),
    ],
)
def test_wrong_arguments_are_named(audit: Audit, words: tuple[str, ...], expected: str) -> None:
    done = audit(*words)

    assert done.code in {2, 3}
    assert done.errors[0].startswith(expected)


def test_without_a_key_the_setting_is_named(audit: Audit) -> None:
    audit.encoder_secret = ""

    done = audit("--write-fingerprints", str(audit.folder / "prints"))

    assert done.code == 3
    assert "derived from [config_providers] password_encoder_secret" in done.err


@pytest.mark.parametrize(
    ("words", "path", "name"),
    [
        pytest.param("history", "s3://user:c4nary@bucket/records", "s3a://bucket/PATH", id="records_path"),
        pytest.param("references --records gs://own@bucket/a/b", "", "gs://bucket/PATH", id="option"),
        pytest.param("history --records /nowhere --against s3://own@bucket", "", "s3a://bucket/PATH", id="against"),
    ],
)
def test_a_path_that_names_a_connection_is_refused_before_spark_starts(cli: Cli, words: str, path: str, name: str):
    done = cli(f"audit {words} --master {NO_MASTER}", records_path=path)

    assert done.code == 3
    assert done.errors == [
        f"The path of the records names a connection of Airflow, with which Spark cannot read. Name the folder as "
        f"Hadoop does: --records {name}, or records=... of an operator. Give Spark the connector of the store, and "
        f"credentials, with --conf."
    ]


def test_a_page_that_cannot_be_written_is_refused_before_records_are_read(cli: Cli, tmp_path: Path):
    words = f"--records /nowhere --no-database --report {tmp_path}/missing/page.html"
    done = cli(f"audit history {words} --master {NO_MASTER}")

    assert done.code == 3
    assert done.errors == [
        f"--report {tmp_path}/missing/page.html cannot be written: No such file or directory. Name another file."
    ]


def test_runs_and_references_without_one_are_not_listed_together(cli: Cli):
    assert cli(f"audit references --runs --known known.txt --master {NO_MASTER}").code == 2
