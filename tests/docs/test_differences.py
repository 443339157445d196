"""The table of differences from Kafka and the tests that hold them go together."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "differences-from-kafka.md").read_text()
HEAD = ("| Kafka | here | why | test |", "| --- | --- | --- | --- |")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and line not in HEAD]
TESTS = {
    name
    for path in (ROOT / "tests").rglob("test_*.py")
    for name in re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)
}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip()[:40])
def test_each_difference_has_a_reason_and_a_test(row: str) -> None:
    theirs, ours, reason, test = (cell.strip() for cell in row.strip("| ").split(" | "))

    assert all((theirs, ours, reason))
    assert test.strip("`") in TESTS


def test_each_test_of_a_difference_has_a_row() -> None:
    differences = {name for name in TESTS if name.startswith("test_difference_")}

    assert sorted(name for name in differences if f"`{name}`" not in PAGE) == []
