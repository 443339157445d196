"""What is read of the records of tries."""

from __future__ import annotations

from airflow_config_providers.deployment.records import used_like
from airflow_config_providers.job.record import RecordedValue, TaskTry, TryRecord

PASSWORD, TOKEN = "${vault:apps/db:password}", "${vault:apps/web:token}"


def test_only_references_that_match_are_kept_of_a_record_and_no_keys():
    configs = {"spark.app.x": [RecordedValue("DAG_CONFIG", "conf", PASSWORD)]}
    record = TryRecord(TaskTry("d", "t", "r"), "", configs, {PASSWORD: "a", TOKEN: None}, "k")

    kept = used_like(record, "${vault:apps/db:*}")

    assert (kept.references, kept.configs, kept.key_id) == ({PASSWORD: "a"}, {}, "k")
