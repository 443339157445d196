"""Findings as Parquet, read again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")

from airflow_config_providers.spark.audit.leaks.leak import Leak
from airflow_config_providers.spark.audit.records.reference_audit import reference_rows
from airflow_config_providers.spark.audit.report_file import HISTORY, LEAK, POLICY, REFERENCE, write_findings

LEAKED = Leak("/logs/a\udcff.log", 1, 2, "${vault:apps/db:password}", "plain", "current", "2026-11-25T12:00:00+00:00")


def written(path: Path, rows: list[Any], columns: dict[str, str]) -> Any:
    from pyarrow import parquet

    write_findings(str(path), rows, columns)
    return parquet.read_table(path)


def test_leaks_have_the_columns_of_their_json(tmp_path: Path):
    found = written(tmp_path / "leaks.parquet", [LEAKED.row()], LEAK)

    assert found.column_names == list(LEAKED.row())
    assert found.to_pylist() == [{**LEAKED.row(), "file": "/logs/a\\udcff.log"}]


def test_lists_and_unknown_numbers_stay_what_they_are(tmp_path: Path):
    rows = reference_rows([], ["${vault:apps/db:password}"])

    assert written(tmp_path / "references.parquet", rows, REFERENCE).to_pylist() == rows


@pytest.mark.parametrize("columns", [HISTORY, LEAK, POLICY, REFERENCE], ids=["history", "leak", "policy", "reference"])
def test_no_findings_have_columns_too(tmp_path: Path, columns: dict[str, str]):
    found = written(tmp_path / "none.parquet", [], columns)

    assert (found.num_rows, found.column_names) == (0, list(columns))
