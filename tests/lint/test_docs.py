"""The page of the rules, and the pre-commit hook."""

from __future__ import annotations

import re

import yaml

from airflow_config_providers.lint.finding import RULES
from tests.docs.pages import ROOT


def test_the_page_has_the_row_of_each_rule():
    page = (ROOT / "docs" / "reference" / "lint.md").read_text()

    rows = re.findall(r"^\| `(CP\d+)` \| `([\w-]+)` \| (\w+) \| (.*) \|$", page, re.MULTILINE)

    rules = [(rule.code, rule.name, rule.severity.value, rule.help) for rule in RULES]
    assert rows == rules, "make the table of docs/reference/lint.md the same as RULES, in the same order"


def test_the_hook_runs_the_command_on_dag_files_and_layer_files():
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())

    assert hook["id"] == "config-providers-lint"
    assert hook["entry"] == "airflow config-providers lint --skip-other-yaml"
    assert hook["language"] == "system"
    names = ["dags/a.py", "team/dags/x/base.properties", "dags/a.yaml", "dags/a.yml", "jobs/a.py", "dags/README.md"]
    assert [name for name in names if re.search(hook["files"], name)] == names[:4]
