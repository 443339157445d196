"""What is read of the records of tries."""

from __future__ import annotations

import json

from airflow_config_providers.deployment.records import used_like
from airflow_config_providers.job.records.record import RecordedValue, TaskTry, TryRecord, parsed
from airflow_config_providers.job.records.table import bytes_of

PASSWORD, TOKEN = "${vault:apps/db:password}", "${vault:apps/web:token}"


def test_only_references_that_match_are_kept_of_a_record_and_no_keys():
    configs = {"spark.app.x": [RecordedValue("DAG_CONFIG", "conf", PASSWORD)]}
    record = TryRecord(TaskTry("d", "t", "r"), "", configs, {PASSWORD: "a", TOKEN: None}, "k")

    kept = used_like(record, "${vault:apps/db:*}")

    assert (kept.references, kept.configs, kept.key_id) == ({PASSWORD: "a"}, {}, "k")


def test_a_record_that_only_its_task_can_write_within_the_limit_ends_no_audit():
    configs = {f"spark.app.key{number}": [["DAG_CONFIG", "conf", "日" * 1000]] for number in range(9000)}
    document = parsed(json.dumps({"configs": configs}, ensure_ascii=False).encode())
    record = TryRecord.read(document, TaskTry("d", "t", "r"))
    assert record is not None

    assert bytes_of(record) == b""
