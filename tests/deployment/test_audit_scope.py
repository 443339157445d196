"""What a page says an audit has read."""

from __future__ import annotations

from airflow_config_providers.deployment.audits import RecordsChoice, scope_of_leaks, scope_of_records
from airflow_config_providers.deployment.known_secrets import KnownSecrets
from airflow_config_providers.spark.audit.leaks.leak_audit import LeakRequest
from airflow_config_providers.spark.audit.records.past_records import PastRecords

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
