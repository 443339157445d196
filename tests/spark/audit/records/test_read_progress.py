"""The progress of reading records, on Spark."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from airflow_config_providers.job.records.table import rows_of
from airflow_config_providers.spark.audit.records.past_records import RecordFilter, RecordReader, ticking
from tests.spark.audit.records.past import Past

pytestmark = pytest.mark.slow


def audit_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "audit-progress"]


@pytest.mark.parametrize("parquet", [False, True], ids=["read", "kept"])
def test_the_last_tick_has_all_files(session: Any, past: Past, parquet: bool):
    for number in range(3):
        past({}, run=f"r{number}")
    ticks = list[tuple[int, int]]()

    with ticking(session, lambda *now: ticks.append(now), every=0.01) as progress:
        kept = str(past.folder.parent / "parquet") if parquet else ""
        RecordReader(session, rows_of, kept, progress=progress).of_files(str(past.folder), RecordFilter())

    assert ticks[-1] == (3, 3)
    assert ticks == sorted(ticks)


def test_the_thread_ends_with_an_error_too(session: Any):
    seen = list[threading.Thread]()

    def fail() -> None:
        with ticking(session, lambda *now: None):
            seen.extend(audit_threads())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()

    assert len(seen) == 1
    assert audit_threads() == []


def test_without_a_terminal_there_is_no_thread(session: Any):
    with ticking(session, None) as progress:
        assert progress is None
        assert audit_threads() == []
