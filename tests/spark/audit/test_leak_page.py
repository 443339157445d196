"""What an audit of leaks says of itself in one line."""

from __future__ import annotations

import pytest

from airflow_config_providers.spark.audit.leak_audit import LeakReport
from airflow_config_providers.spark.audit.leak_page import summary


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
    ],
)
def test_the_summary_counts_what_was_searched(report: LeakReport, line: str) -> None:
    assert summary(report) == line
