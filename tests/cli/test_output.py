"""Rows as people and programs read them."""

from __future__ import annotations

import json

import pytest
import yaml

pytest.importorskip("airflow")

from airflow_config_providers.cli.output import show
from airflow_config_providers.deployment.rows import SECRET

ROWS = [
    {"key": "a", "value": "${v:p:k}", "flag": True, "number": 3, "none": None, "list": ["x", "y"]},
    {"key": "[red]b", "value": SECRET, "flag": False, "number": 1, "none": None, "list": []},
]
PLAIN = [{**row, "value": None if row["value"] is SECRET else row["value"]} for row in ROWS]


@pytest.mark.parametrize(("output", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_programs_get_values_of_their_types(capsys, output, read):
    show(ROWS, output)

    assert read(capsys.readouterr().out) == PLAIN


@pytest.mark.parametrize("output", ["table", "plain"])
def test_people_get_texts(capsys, output):
    show(ROWS, output)

    lines = capsys.readouterr().out.splitlines()
    cells = [line.replace("|", " ").split() for line in lines if line.strip() and "=" not in line]
    assert cells == [
        ["key", "value", "flag", "number", "none", "list"],
        ["a", "${v:p:k}", "true", "3", "x;", "y"],
        ["[red]b", "[hidden]", "false", "1"],
    ]


@pytest.mark.parametrize("output", ["table", "plain", "json"])
def test_numbers_and_texts_stay_as_they_are(capsys, output):
    show([{"value": text} for text in ("1e3", "0123", "1.50", ":smile:", "é漢")], output)

    out = capsys.readouterr().out
    assert all(text in out for text in ("1e3", "0123", "1.50", ":smile:", "é漢"))


@pytest.mark.parametrize("output", ["table", "plain", "json", "yaml"])
def test_a_value_brings_no_line_and_no_control_character_in(capsys, output):
    show([{"value": "a\n\x1b[31mb\x07"}], output)

    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\x07" not in out
    assert not any(line.strip().startswith("b") for line in out.splitlines())


@pytest.mark.parametrize("output", ["table", "plain"])
def test_a_wide_value_stays_on_one_line_of_a_pipe(capsys, output):
    show([{"key": "k" * 300, "value": "v" * 5000, "last": "end"}], output)

    assert any(
        "k" * 300 in line and "v" * 5000 in line and "end" in line for line in capsys.readouterr().out.splitlines()
    )


@pytest.mark.parametrize(
    ("output", "expected"), [("table", "None.\n"), ("plain", "None.\n"), ("json", "[]\n"), ("yaml", "[]\n")]
)
def test_people_are_told_that_there_is_nothing(capsys, output, expected):
    show([], output, nothing="None.")

    assert capsys.readouterr().out == expected
