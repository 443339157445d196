"""Rows as people and programs read them."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Sequence

import pytest
import yaml

pytest.importorskip("airflow")

from airflow.cli.simple_table import AirflowConsole, SimpleTable
from rich.text import Text

from airflow_config_providers.cli.output import colour, show
from airflow_config_providers.core.text import one_line
from airflow_config_providers.deployment.rows import SECRET, Row
from airflow_config_providers.deployment.why_not import SettingStatus

ROWS = [
    {"key": "a", "value": "${v:p:k}", "flag": True, "number": 3, "none": None, "list": ["x", "y"]},
    {"key": "[red]b", "value": SECRET, "flag": False, "number": 1, "none": None, "list": []},
]
PLAIN = [{**row, "value": None if row["value"] is SECRET else row["value"]} for row in ROWS]


@pytest.mark.parametrize(("output", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_programs_get_values_of_their_types(capsys, output, read):
    show(ROWS, output)

    assert read(capsys.readouterr().out) == PLAIN


@pytest.mark.parametrize(("output", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
@pytest.mark.parametrize("character", ["\x9b", "\u202e", "\U000e0041", "\ud800"], ids=ascii)
def test_programs_get_a_character_that_steers_a_terminal_as_an_escape(capsys, output, read, character: str):
    """A task can write such a record. Half of a surrogate pair cannot be printed."""
    show([{"key": "a", "value": f"x{character}y"}], output)

    out = capsys.readouterr().out
    assert character not in out
    assert read(out) == [{"key": "a", "value": f"x{character}y"}]


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_programs_get_other_characters_as_they_are(capsys, output):
    show([{"key": "a", "value": "ä→"}], output)

    assert "ä→" in capsys.readouterr().out


@pytest.mark.parametrize(("output", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_programs_get_an_escape_where_the_output_is_ascii(monkeypatch, output, read):
    written = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", written)
    show([{"key": "a", "value": "ä→"}], output)

    written.seek(0)
    assert read(written.read()) == [{"key": "a", "value": "ä→"}]


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


@pytest.mark.parametrize(("output", "between"), [("table", " | "), ("plain", "  ")])
def test_columns_stay_in_line_beside_characters_that_are_two_columns_wide(capsys, output, between):
    show([{"value": "日本", "at": "x"}, {"value": "ab", "at": "y"}], output)

    assert f"日本 {between}x\nab   {between}y" in capsys.readouterr().out


class Terminal(io.StringIO):
    """A standard output that is a terminal."""

    def isatty(self) -> bool:
        return True


CHANGES = [{"key": "[red]a", "change": "removed"}, {"key": "b", "change": "added"}]
ESCAPE = "\x1b["


def shown_in_terminal(monkeypatch: pytest.MonkeyPatch, output: str, rows: Sequence[Row] = CHANGES) -> str:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(sys, "stdout", terminal := Terminal())
    show(rows, output)
    return terminal.getvalue()


def test_a_terminal_gets_colours(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    out = shown_in_terminal(monkeypatch, "table")

    assert f"{ESCAPE}31mremoved" in out
    assert f"{ESCAPE}32madded" in out
    assert "[red]a" in out


def test_a_terminal_with_no_color_gets_none(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    out = shown_in_terminal(monkeypatch, "table")

    assert f"{ESCAPE}3" not in out
    assert "removed" in out


@pytest.mark.parametrize("output", ["plain", "json", "yaml"])
def test_only_tables_have_colours(monkeypatch, output):
    monkeypatch.delenv("NO_COLOR", raising=False)

    assert ESCAPE not in shown_in_terminal(monkeypatch, output)


def test_a_pipe_gets_no_colours_even_if_they_are_forced(monkeypatch, capsys):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    show(CHANGES, "table")

    assert ESCAPE not in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", " x ", "[bold]x[/bold]", "日本", "e\u0301", "👍🏽", "\x1b[31m", "\u200bx"])
def test_a_pipe_gets_the_table_that_rich_draws_without_what_fills_its_lines(capsys, text: str):
    table, out = SimpleTable(show_header=True), io.StringIO()
    for column in ("key", "列"):
        table.add_column(column)
    table.add_row(Text(one_line(text)), Text("end"))
    AirflowConsole(file=out, width=200).print(table)

    show([{"key": text, "列": "end"}], "table")
    header, rule, *rows = capsys.readouterr().out.splitlines()
    head, line, *drawn = out.getvalue().splitlines()
    assert [header, *rows] == [one.rstrip() for one in (head, *drawn)]
    assert line == rule.ljust(len(line), "=")


@pytest.mark.parametrize("output", ["table", "plain"])
def test_a_long_value_in_the_last_column_makes_only_its_own_line_long(capsys, output):
    show([{"key": "a", "reason": "x" * 300}, {"key": "b", "reason": "y"}], output)

    lines = capsys.readouterr().out.splitlines()
    assert [len(line) > 20 for line in lines].count(True) == 1
    assert not [line for line in lines if line != line.rstrip()]


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


def on_terminal(rows: Sequence[Row], monkeypatch: pytest.MonkeyPatch, *, width: int = 80) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("NO_COLOR", "1")
    return [line.rstrip() for line in shown_in_terminal(monkeypatch, "table", rows).splitlines()]


def test_a_terminal_shows_names_of_keys_in_one_line(monkeypatch: pytest.MonkeyPatch):
    row = {"key": "spark.sql.shuffle.partitions", "value": "x" * 60, "origin": "y" * 60}

    assert any("spark.sql.shuffle.partitions " in line for line in on_terminal([row], monkeypatch))


def test_a_name_that_is_longer_than_half_of_the_terminal_is_not_cut(monkeypatch: pytest.MonkeyPatch):
    lines = on_terminal([{"key": "k" * 200, "value": "x"}], monkeypatch)

    assert sum(line.count("k") for line in lines[2:]) == 200


def test_a_terminal_without_room_for_columns_shows_each_cell_on_a_line_of_its_own(monkeypatch: pytest.MonkeyPatch):
    rows = [{"key": "spark.a", "value": "1", "source": "DAG_CONFIG"}, {"key": "spark.b", "value": None, "source": "X"}]

    assert on_terminal(rows, monkeypatch, width=10) == [
        *("key: spark.a", "value: 1", "source: DAG_CONFIG", ""),
        *("key: spark.b", "value:", "source: X", ""),
    ]


@pytest.mark.parametrize(("sensitive", "is_shown"), [([False, False], False), ([False, True], True)], ids=["no", "one"])
def test_a_terminal_has_no_column_for_a_property_that_no_key_has(
    monkeypatch: pytest.MonkeyPatch, sensitive: list[bool], is_shown: bool
):
    rows = [{"key": "k", "sensitive": one, "applied": ""} for one in sensitive]

    header = on_terminal(rows, monkeypatch)[0]
    assert ("sensitive" in header, "applied" in header) == (is_shown, True)


@pytest.mark.parametrize("verdict", [pytest.param(verdict.value, id=verdict.name) for verdict in SettingStatus])
def test_each_verdict_has_a_colour(verdict: str):
    assert colour("verdict", verdict)


def test_what_waits_is_coloured_and_what_does_not_is_not():
    assert colour("applied", "pending, is 1g")
    assert not colour("applied", "1g")


def test_what_is_hidden_is_faint_in_every_column():
    assert colour("value", "[hidden]") == colour("before", "[hidden]") == "dim"


def test_a_value_brings_no_colour_in():
    assert not colour("value", "removed")
