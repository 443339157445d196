"""How often the configuration of tasks changed, on Spark."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_config_providers.spark.audit.records.history_audit import (
    Drift,
    KnownElsewhere,
    Ranking,
    drift_of,
    history_of,
)
from tests.spark.audit.records.past import Past, frame

pytestmark = pytest.mark.slow


def drift(session: Any, past: Past) -> Drift:
    with history_of(session, frame(session, past), KnownElsewhere()) as history:
        return drift_of(history.runs, history.changes)


def test_changes_are_counted_by_week_key_and_dag(session: Any, past: Past):
    for day, (one, other) in enumerate(("11", "21", "31", "32"), 7):
        past({"spark.a": one, "spark.b": other}, run=f"r{day}", day=day)

    assert drift(session, past) == Drift(
        by_week=[("2026-11-02", 1), ("2026-11-09", 2)],
        by_key=Ranking([("spark.a", 2), ("spark.b", 1)], 2),
        by_dag=Ranking([("flights", 3)], 1),
        runs=4,
        tasks=1,
    )


def test_no_records_have_no_drift(session: Any, past: Past):
    past.folder.mkdir()

    assert drift(session, past) == Drift([], Ranking([]), Ranking([]))
