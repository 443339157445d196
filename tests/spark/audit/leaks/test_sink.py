"""The kinds of files in which values are found."""

from __future__ import annotations

import pytest

from airflow_config_providers.spark.audit.leaks.leak_page import dag, sink


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/logs/dag_id=flights/run_id=r/task_id=t/attempt=1.log", "task log"),
        ("/events/application_1700000000000_0001", "Spark event log"),
        ("/events/application_1700000000000_0001_1.zstd", "Spark event log"),
        ("/events/local-1700000000000.inprogress", "Spark event log"),
        ("/events/app-20261125113700-0001.lz4.inprogress", "Spark event log"),
        ("/events/eventlog_v2_app-20261125113700-0001/events_1_app-20261125113700-0001.zstd", "Spark event log"),
        ("/exported/rendered_fields.jsonl", "rendered fields"),
        ("database:rendered_task_instance_fields.rendered_fields:flights", "rendered fields"),
        ("database:xcom.value:flights", "Airflow's database, xcom"),
        ("/logs/scheduler/2026-11-25/flights.py.log", "log of Airflow, scheduler"),
        ("/lake/runs/day=2026-11-25/part-0.snappy.parquet", "table in Parquet"),
        ("/home/ann/notes.tar.gz", "other, .tar.gz"),
        ("/home/ann/notes", "other, no extension"),
        ("/home/ann/local-news", "other, no extension"),
    ],
)
def test_the_path_says_what_kind_of_file_it_is(path: str, kind: str):
    assert sink(path) == kind


def test_the_log_of_a_task_says_of_which_dag_it_is():
    assert dag("/logs/dag_id=flights/run_id=r/attempt=1.log") == "flights"
    assert dag("/home/ann/notes.txt") == ""
