"""Makes the attempts, and shows what came of them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from rich.box import SIMPLE_HEAD
from rich.table import Table

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Row:
    """
    What came of an attempt.

    :param as_declared: whether that is what the documentation says
    """

    who: str
    what: str
    how: str
    outcome: str
    as_declared: bool


@dataclass(slots=True)
class _Collector:
    """Collects the outcomes while pytest makes the attempts."""

    rows: list[Row] = field(default_factory=list)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the outcome from a test that made an attempt."""
        if report.when == "call":
            self.rows += [Row(*row, as_declared=report.passed) for name, row in report.user_properties]


def attempted() -> list[Row]:
    """Make all attempts; what the tests print goes to standard error."""
    collector = _Collector()
    with contextlib.redirect_stdout(sys.stderr):
        tests = str(Path(__file__).with_name("test_trust.py"))
        options = ["-q", "--no-header", "--tb=short", "-p", "no:cacheprovider", "--rootdir", str(ROOT)]
        pytest.main([tests, "-k", "an_attempt", *options], plugins=[collector])
    return collector.rows


def table(rows: Sequence[Row]) -> Table:
    """Return the table, one line for each attempt."""
    table = Table(title="Who can read and steer what", title_justify="left", box=SIMPLE_HEAD)
    for name in ("who", "what", "attempt", "outcome"):
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(row.who, row.what, row.how, row.outcome if row.as_declared else f"NOT DECLARED: {row.outcome}")
    return table
