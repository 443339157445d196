"""The page of the example DAGs lists all of them."""

from __future__ import annotations

import re

from tests.docs.pages import ROOT


def test_the_page_has_a_row_for_each_example_and_no_other() -> None:
    sources = "\n".join(path.read_text() for path in (ROOT / "dags_examples").glob("*.py"))
    page = (ROOT / "docs" / "how-to" / "examples.md").read_text()

    described = re.findall(r"^\| `(\w+)` \|", page, flags=re.MULTILINE)

    assert sorted(described) == sorted(re.findall(r'with DAG\(\s*"(\w+)"', sources)), "add it to examples.md"
