"""The lines that the runbook explains are lines that the package logs, or errors that it raises."""

from __future__ import annotations

import ast
import re

import pytest

from airflow_config_providers import exceptions
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "how-to" / "runbook.md").read_text()
ROWS = re.findall(r"^\| (`[^|]+) \|", PAGE, flags=re.MULTILINE)
LINES = [line for row in ROWS for line in re.findall("`([^`]+)`", row)]
AIRFLOWS = {"AirflowSecretsBackendAccessDenied", "Error code is: 1"}


@pytest.fixture(scope="module")
def written() -> list[str]:
    """Return all strings of the package."""
    return [
        node.value
        for file in (ROOT / "airflow_config_providers").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


@pytest.mark.parametrize("line", LINES)
def test_a_line_of_the_runbook_is_one_that_there_is(written: list[str], line: str) -> None:
    assert line in AIRFLOWS or hasattr(exceptions, line) or any(map(shown(line).search, written))


def test_the_runbook_has_all_warnings_of_jobs_that_keep_an_old_value() -> None:
    files = ("job/job_reload.py", "core/subscriptions.py", "dynamic/followers.py")
    warned = [text for file in files for text in warnings(file)]

    assert len(warned) > 8
    assert [text for text in warned if not any(shown(line).search(text) for line in LINES)] == []


def shown(line: str) -> re.Pattern[str]:
    """Return the pattern of a line that has three dots in place of what differs."""
    return re.compile(".*?".join(map(re.escape, line.split("..."))))


def warnings(file: str) -> list[str]:
    """Return the messages of the warnings in a file of the package, some of which are constants of it."""
    tree = ast.parse((ROOT / "airflow_config_providers" / file).read_text())
    constants = {ast.unparse(node.target): node.value for node in tree.body if isinstance(node, ast.AnnAssign)}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    found = [call.args[0] for call in calls if ast.unparse(call.func).endswith("log.warning")]
    return [ast.literal_eval(constants.get(ast.unparse(one)) or one) for one in found]
