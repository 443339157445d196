"""The audit finds nothing where nothing is."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from benchmarks.innocent import logs
from tests.spark.audit.leaks.clean import false_alarms, searched

pytestmark = [pytest.mark.integration, pytest.mark.slow]


def test_nothing_is_found_in_the_logs_of_a_driver_and_of_our_own_tests(tmp_path: Path) -> None:
    for number, (_, text) in enumerate(logs()):
        (tmp_path / f"{number}.log").write_text(text)

    results = searched(tmp_path)

    assert min(one.found.octets for one in results) > 1_000
    assert false_alarms(results) == []
