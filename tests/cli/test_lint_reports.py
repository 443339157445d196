"""The formats of reports, with names that try to break them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

from airflow_config_providers.cli.lint import REPORTS
from airflow_config_providers.lint.finding import DEAD_OVERRIDE, MALFORMED, RULES, Finding, SourcePlace

ODD = "a<b>&\"'\x1b[31m\x00\ufffe\ud800 é.py"
FOUND = [
    Finding(MALFORMED, SourcePlace("dags/a.py", 7, "flights.report"), "It is wrong."),
    Finding(MALFORMED, SourcePlace(ODD), f"'{ODD}' is wrong."),
    Finding(DEAD_OVERRIDE, SourcePlace("base.properties", 3), "It has no effect."),
]
FILES = ["dags/a.py", ODD, "base.properties", "clean.py"]


def sarif() -> Any:
    return json.loads(REPORTS["sarif"](FOUND, FILES))


def test_the_plain_report_has_a_line_for_each_finding():
    assert REPORTS["plain"](FOUND, FILES).split("\n") == list(map(str, FOUND))


def test_json_has_a_row_for_each_finding():
    rows = json.loads(REPORTS["json"](FOUND, FILES))

    assert rows[0] == {
        "file": "dags/a.py",
        "line": 7,
        "code": "CP101",
        "rule": "malformed-reference",
        "severity": "error",
        "task": "flights.report",
        "message": "It is wrong.",
    }
    assert (rows[1]["line"], rows[1]["task"]) == (None, None)


def test_sarif_has_what_the_specification_requires():
    """Sections 3.13.2, 3.13.4, 3.14.6, 3.18.1, 3.19.2, 3.27.11, 3.28, 3.30.5 and 3.49.3 of SARIF 2.1.0."""
    log = sarif()

    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-schema-2.1.0.json")
    (run,) = log["runs"]
    assert run["tool"]["driver"]["name"]
    assert re.fullmatch(r"\d+\.\d+\S*", run["tool"]["driver"]["version"])
    for result in run["results"]:
        assert result["message"]["text"]
        for location in result["locations"]:
            region = location["physicalLocation"].get("region", {"startLine": 1})
            assert region["startLine"] >= 1


def test_each_result_of_sarif_leads_to_its_rule():
    (run,) = sarif()["runs"]
    rules = run["tool"]["driver"]["rules"]

    assert [rule["id"] for rule in rules] == [rule.code for rule in RULES]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in {"error", "warning", "note"}


def test_a_path_in_sarif_is_an_uri(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    places = [SourcePlace(str(tmp_path / "dags" / "a b%.py")), SourcePlace("dags/é.py"), SourcePlace("/elsewhere/x.py")]

    log = json.loads(REPORTS["sarif"]([Finding(MALFORMED, place, "x") for place in places], []))
    found = [one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in log["runs"][0]["results"]]

    assert found == ["dags/a%20b%25.py", "dags/%C3%A9.py", "file:///elsewhere/x.py"]
    assert unquote(found[1]) == "dags/é.py"


def test_junit_is_well_formed_with_a_test_for_each_finding_and_each_clean_file():
    text = REPORTS["junit"](FOUND, FILES)
    suites = ElementTree.fromstring(text.encode())

    (suite,) = suites
    cases = {(case.get("classname"), case.get("name")): case for case in suite}
    assert suite.attrib == {"name": "config-providers-lint", "tests": "4", "failures": "2", "errors": "0"}
    assert cases["dags/a.py", "CP101 line 7 flights.report"].find("failure").get("type") == "CP101"
    assert len(cases["clean.py", "lint"]) == 0
    assert cases["base.properties", "CP402 line 3"].find("failure") is None


def test_no_report_of_nothing_fails():
    assert REPORTS["plain"]([], []) == ""
    assert json.loads(REPORTS["json"]([], [])) == []
    assert json.loads(REPORTS["sarif"]([], []))["runs"][0]["results"] == []
    assert ElementTree.fromstring(REPORTS["junit"]([], []).encode()).get("tests") == "0"
