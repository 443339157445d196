"""What audits of records refuse before they start Spark, and what a page says an audit has read."""

from __future__ import annotations

import pytest

pytest.importorskip("airflow")

from airflow_config_providers.deployment.audits import (
    RecordsChoice,
    require_no_connection,
    scope_of_leaks,
    scope_of_records,
)
from airflow_config_providers.deployment.known_secrets import KnownSecrets
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.spark.audit.leaks.leak_audit import LeakRequest
from airflow_config_providers.spark.audit.records.past_records import PastRecords


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("", id="database"),
        pytest.param("/opt/records", id="folder"),
        pytest.param("//[x/me@home", id="odd-folder"),
        pytest.param("s3a://bucket/records", id="bucket"),
        pytest.param("abfss://container@account.dfs.core.windows.net/records", id="container-of-azure"),
    ],
)
def test_a_path_that_spark_can_read_is_taken(path: str) -> None:
    require_no_connection(path)


def test_a_connection_to_azure_is_refused() -> None:
    with pytest.raises(ConfigException, match="--records abfss://CONTAINER@ACCOUNT"):
        require_no_connection("abfss://own@container/records")


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        pytest.param("s3://own@bucket/r?X-Amz-Signature=c4nary", "s3a://bucket/PATH", id="signed-link"),
        pytest.param("s3://own@bucket?X-Amz-Signature=c4nary", "s3a://bucket/PATH", id="signed-bucket"),
        pytest.param("gs://own@bucket/token=c4nary", "gs://bucket/PATH", id="token"),
        pytest.param("s3a://AKIA:c4nary@bucket/records", "s3a://bucket/PATH", id="password"),
        pytest.param("s3a://own@AKIA:c4nary#x@bucket/records", "s3a://BUCKET/PATH", id="hash-in-password"),
        pytest.param("s3a://own@c4nary#x@bucket/records", "s3a://BUCKET/PATH", id="hash-in-name"),
        pytest.param("S3://own@bucket/records", "s3a://bucket/PATH", id="capitals"),
    ],
)
def test_a_connection_is_refused_without_what_can_be_a_secret(path: str, shown: str) -> None:
    with pytest.raises(ConfigException, match=f"--records {shown},") as raised:
        require_no_connection(path)

    assert "c4nary" not in str(raised.value)


NO_RECORDS = PastRecords(None, {}, 0, 0, 0)  # type: ignore[arg-type] - its rows are not read


def test_an_address_with_a_password_is_hidden() -> None:
    scope = scope_of_records(RecordsChoice("s3a://key:c4nary@bucket/records"), NO_RECORDS, notes=[])

    assert dict(scope.rows)["records"] == "[hidden]"
    assert "c4nary" not in scope.section()


def test_records_without_a_folder_are_those_of_the_database() -> None:
    scope = scope_of_records(RecordsChoice("", dag="flights"), NO_RECORDS, [("policies", "tomorrow.yaml")], notes=[])

    assert dict(scope.rows) == {
        "records": "Airflow's database",
        "kept in": None,
        "since": "all days",
        "DAG": "flights",
        "records read": 0,
        "files without a record": None,
        "policies": "tomorrow.yaml",
    }


def test_a_search_names_what_was_left_out() -> None:
    request = LeakRequest(["logs/"], baseline="accepted.jsonl", excepted=["${vault:*:user}"])

    scope = scope_of_leaks(request, KnownSecrets((), excepted=["${vault:a:user}"]), [], notes=["No key."])

    rows = dict(scope.rows)
    assert rows["files and folders"] == ["logs/"]
    assert rows["patterns of references that were left out"] == ["${vault:*:user}"]
    assert rows["references that were left out"] == 1
    assert rows["baseline of accepted leaks"] == "accepted.jsonl"
    assert rows["Airflow's database"] == "not searched"
    assert "<p>No key.</p>" in scope.section()
