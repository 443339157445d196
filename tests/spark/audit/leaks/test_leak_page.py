"""What an audit of leaks says of itself, and the kinds of files in which values are found."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.spark.audit.leaks.file_listing import FoundFile
from airflow_config_providers.spark.audit.leaks.fingerprint import FingerprintKey
from airflow_config_providers.spark.audit.leaks.leak import Found, Leak
from airflow_config_providers.spark.audit.leaks.leak_finder import KnownSecret
from airflow_config_providers.spark.audit.leaks.leak_report import LeakReport, dag, page, sink, summary
from airflow_config_providers.spark.audit.leaks.seen_files import SearchedFile
from airflow_config_providers.spark.audit.leaks.sought import Sought


def leak(modified: str) -> Leak:
    return Leak("a.log", 0, 1, "${vault:a:b}", "plain", "current", modified)


CURRENT = Sought([KnownSecret(ConfigVariable("vault", "a", "b"), "a-current-password")])
EARLIER = tuple(
    FingerprintKey(b"k" * 32).of_secrets([KnownSecret(ConfigVariable("vault", "a", "b"), "the-old-password")])
)


@pytest.mark.parametrize(
    ("report", "line"),
    [
        pytest.param(LeakReport(), "no files searched: no leaks.", id="nothing"),
        pytest.param(
            LeakReport(files=1, octets=1, read=1), "1 file with 1 byte searched (1 read now): no leaks.", id="one"
        ),
        pytest.param(
            LeakReport(files=2, octets=4096, accepted=1, rows=3),
            "2 files and 3 rows of Airflow's database with 4,096 bytes searched (0 read now): no leaks, and 1 that the "
            "baseline accepts.",
            id="several",
        ),
        pytest.param(
            LeakReport(rows=1, octets=9),
            "1 row of Airflow's database with 9 bytes searched: no leaks.",
            id="only-the-database",
        ),
        pytest.param(
            LeakReport(files=1, octets=9, read=1, unsearched=2),
            "1 file with 9 bytes searched (1 read now), 2 paths could not be read: no leaks.",
            id="unread",
        ),
    ],
)
def test_the_summary_counts_what_was_searched(report: LeakReport, line: str) -> None:
    assert summary(report) == line


@pytest.mark.parametrize(
    ("report", "says"),
    [
        pytest.param(LeakReport(sought=CURRENT), True, id="values"),
        pytest.param(LeakReport(sought=replace(CURRENT, fingerprints=EARLIER)), False, id="values-and-fingerprints"),
        pytest.param(LeakReport(sought=Sought(tokens=True)), False, id="tokens"),
        pytest.param(LeakReport([leak("")], sought=CURRENT), True, id="leaks"),
    ],
)
def test_the_summary_says_if_rotated_values_were_not_searched_for(report: LeakReport, says: bool) -> None:
    assert summary(report).endswith(" Only current values were searched for.") is says


def test_a_file_that_could_not_be_read_is_not_counted_as_searched() -> None:
    report = LeakReport()
    closed, broken = FoundFile("closed.log", 9, 1), FoundFile("broken.gz", 9, 1)

    report.add_all(
        [SearchedFile(closed, Found(problem="Permission denied.")), SearchedFile(broken, Found(octets=4, problem="x"))],
        None,
    )

    assert (report.files, report.read, report.unsearched) == (1, 1, 1)
    assert set(report.unread) == {"closed.log", "broken.gz"}


def test_a_leak_without_a_time_is_in_no_week() -> None:
    shown = page(LeakReport([leak("2026-11-25T08:00:00+00:00"), leak("")]))

    assert '<tr><td>2026-11-23</td><td class="number">1</td></tr>' in shown
    assert "<p>1 leak in stores or tables that give no time: not in any week.</p>" in shown


def test_leaks_that_all_have_no_time_have_no_weeks() -> None:
    assert "By week" not in page(LeakReport([leak("")]))


def test_the_table_of_leaks_says_when_the_file_was_modified() -> None:
    assert ">2026-11-25 08:00</td>" in page(LeakReport([leak("2026-11-25T08:00:00+00:00")]))


def test_the_table_of_leaks_has_columns_only_if_a_file_has_some() -> None:
    in_column = replace(leak(""), column="user.name")

    assert "<td>user.name</td>" in page(LeakReport([in_column, leak("")]))
    assert ">column</th>" in page(LeakReport([in_column, leak("")]))
    assert ">column</th>" not in page(LeakReport([leak("")]))


def test_files_without_a_copy_are_listed_apart_from_what_was_not_read() -> None:
    shown = page(LeakReport(uncopied={"a.parquet": "References cannot replace the values in Parquet."}))

    assert "Without a copy" in shown
    assert "<td>a.parquet</td>" in shown
    assert "Not read, or not wholly" not in shown


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
