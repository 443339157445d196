"""The operator of the audit, with real Spark."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("airflow")
pytest.importorskip("pyspark")

from pyarrow.parquet import read_table

from airflow_config_providers.exceptions import ConfigException, LeakError
from airflow_config_providers.operators.audit import ConfigAuditOperator
from airflow_config_providers.spark.audit.session import audit_session
from tests.servers.own_jvm import shared_jvm
from tests.spark.audit.records.past import QUICK

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("jvm")]

VALUE = "c4nary-Pa$$w0rd/of+the=audit"


@pytest.fixture(scope="module")
def jvm() -> Iterator[None]:
    """A session of this file: one that another file has left is not encrypted."""
    with shared_jvm(), audit_session("local[2]", QUICK):
        yield


@pytest.fixture
def reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    (secrets / "password").write_text(VALUE)
    extra = {
        "config.providers": "dir",
        "config.providers.dir.class": "directory",
        "config.providers.dir.param.allowed.paths": str(secrets),
    }
    connection = json.dumps({"conn_type": "config_providers", "extra": extra})
    monkeypatch.setenv("AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT", connection)
    return f"${{dir:{secrets}:password}}"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.log").write_text(f"pw={VALUE}\n")
    return tmp_path / "logs"


def audit(logs: Path, **fields: object) -> ConfigAuditOperator:
    return ConfigAuditOperator(task_id="audit", paths=str(logs), master="local[2]", **fields)


def test_a_leak_fails_the_task_without_showing_the_value(
    logs: Path, reference: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(LeakError) as raised:
        audit(logs, references=[reference]).execute({})

    shown = capfd.readouterr()
    assert "1 leak" in str(raised.value)
    assert f"{logs}/a.log:1: {reference} (plain" in shown.out + shown.err
    assert VALUE not in shown.out + shown.err + str(raised.value)


def test_a_name_with_a_line_end_is_one_line_of_the_log(
    logs: Path, reference: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (logs / "a.log").rename(logs / "a\nERROR forged.log")

    audit(logs, references=[reference], fail_on_leaks=False).execute({})

    shown = capfd.readouterr()
    assert f"{logs}/a\\nERROR forged.log:1: {reference} (plain" in shown.out + shown.err


def test_the_task_returns_numbers(logs: Path, reference: str) -> None:
    found = audit(logs, references=[reference], fail_on_leaks=False).execute({})

    assert found == {"files": 1, "octets": len(VALUE) + 4, "leaks": 1, "accepted": 0, "unread": 0}


def test_the_log_names_columns_and_files_without_a_copy(
    logs: Path, reference: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(pa.table({"note": [VALUE]}), logs / "a.parquet")

    found = audit(logs, references=[reference], fail_on_leaks=False, reversed_copy=str(tmp_path / "copies")).execute({})

    shown = "".join(capfd.readouterr())
    assert f"{logs}/a.parquet:1: {reference} (note, plain, " in shown
    assert f"{logs}/a.parquet has no copy: References cannot replace the values in Parquet." in shown
    assert (found["unread"], found["uncopied"]) == (0, 1)


def test_a_note_about_the_baseline_is_logged_once(
    logs: Path, reference: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    leaks, baseline = tmp_path / "leaks.parquet", tmp_path / "baseline"
    audit(logs, references=[reference], fail_on_leaks=False, output_parquet=str(leaks)).execute({})
    baseline.write_text(read_table(leaks).to_pylist()[0]["id"])
    audit(logs, references=[reference], baseline=str(baseline)).execute({})

    assert "".join(capfd.readouterr()).count("The baseline has no fingerprint for 1 leak") == 1


def test_the_page_says_what_was_audited(logs: Path, reference: str, tmp_path: Path) -> None:
    page, odd = tmp_path / "report.html", reference.replace("password", "missing")

    audit(logs, references=[reference, odd], fail_on_leaks=False, report=str(page)).execute({})

    assert f"{logs}" in page.read_text()
    assert f"{odd} has no value now, so it is not searched for." in page.read_text()
    assert VALUE not in page.read_text()


def test_the_leaks_are_a_table_for_other_programs(logs: Path, reference: str, tmp_path: Path) -> None:
    parquet = tmp_path / "leaks.parquet"

    audit(logs, references=[reference], fail_on_leaks=False, output_parquet=str(parquet)).execute({})

    [row] = read_table(parquet).to_pylist()
    assert (row["file"], row["line"], row["reference"]) == (f"{logs}/a.log", 1, reference)
    assert VALUE.encode() not in parquet.read_bytes()


def test_without_a_reference_the_task_says_how_to_name_some(logs: Path) -> None:
    with pytest.raises(ConfigException, match=r"Name some in references=\[\.\.\.\]"):
        audit(logs).execute({})


def test_a_reference_without_a_value_fails_the_task(logs: Path, reference: str) -> None:
    (logs / "a.log").write_text("nothing")

    with pytest.raises(LeakError, match="no leaks"):
        audit(logs, references=[reference, reference.replace("password", "gone")]).execute({})


def test_tokens_need_no_reference(logs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    token = f"glpat-{'aB1_-' * 4}"
    (logs / "a.log").write_text(f"token={token}\n")

    with pytest.raises(LeakError, match="1 leak"):
        audit(logs, tokens=True).execute({})

    shown = capfd.readouterr()
    assert "[token: GitLab token] (plain" in shown.out + shown.err
    assert token not in shown.out + shown.err


def test_an_excepted_reference_is_not_searched_for(logs: Path, reference: str) -> None:
    other = reference.replace("password", "missing")
    operator = audit(logs, references=[reference, other], except_references=["${dir:*:password}"])

    with pytest.raises(ConfigException, match="There is no value to search for"):
        operator.execute({})


def test_exceptions_that_leave_no_reference_are_refused_also_with_tokens(logs: Path, reference: str) -> None:
    operator = audit(logs, references=[reference], except_references="*", tokens=True)

    with pytest.raises(ConfigException, match="except_references leaves no reference to search for"):
        operator.execute({})


def test_one_reference_and_one_exception_need_no_list(logs: Path, reference: str) -> None:
    found = audit(logs, references=reference, except_references="${dir:*:user}", fail_on_leaks=False).execute({})

    assert found["leaks"] == 1


def test_references_are_not_templated() -> None:
    assert not {"references", "except_references"} & set(ConfigAuditOperator.template_fields)


def test_the_database_of_a_connection_is_searched(
    logs: Path, reference: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_AIRFLOW_DB", json.dumps({"conn_type": "sqlite", "host": str(tmp_path / "db")}))
    with closing(sqlite3.connect(tmp_path / "db")) as database:
        database.execute("create table xcom (dag_run_id, dag_id, run_id, task_id, map_index, key, value, timestamp)")
        database.execute("insert into xcom values (1, 'flights', 'r', 't', -1, 'k', ?, null)", [VALUE])
        database.commit()

    found = audit(logs, references=[reference], database_conn_id="airflow_db", fail_on_leaks=False).execute({})

    assert (found["leaks"], found["rows"], found["files"]) == (2, 1, 1)
    assert found["unread"] > 1  # the other tables, which this database lacks


def test_files_and_object_storage_are_searched_together(
    logs: Path, reference: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("moto.server", reason="install the extra moto")
    from tests.servers.aws import serve_aws

    with serve_aws() as aws:
        s3 = aws.client("s3")
        s3.create_bucket(Bucket="bucket", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
        s3.put_object(Bucket="bucket", Key="logs/b.log", Body=VALUE.encode())
        extra = {"endpoint_url": aws.address, "region_name": "eu-west-1"}
        connection = {"conn_type": "aws", "login": "AKIA0C4NARY", "password": "c4nary-key", "extra": extra}
        monkeypatch.setenv("AIRFLOW_CONN_AWS_LOGS", json.dumps(connection))
        paths = [str(logs), "s3://aws_logs@bucket/logs"]

        found = ConfigAuditOperator(
            task_id="audit", paths=paths, references=[reference], master="local[2]", fail_on_leaks=False
        ).execute({})

    shown = "".join(capfd.readouterr())
    assert (found["files"], found["leaks"], found["unread"]) == (2, 2, 0)
    assert f"s3://aws_logs@bucket/logs/b.log:1: {reference} (plain" in shown
    assert "c4nary-key" not in shown
