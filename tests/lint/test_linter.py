"""Layer files and policy files, with the line of each entry or problem."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from airflow_config_providers.lint import linter


def test_each_entry_has_its_line(tmp_path: Path):
    path = tmp_path / "base.properties"
    path.write_text("# comment\nspark.a=1\n\nspark.b=\\\n  2\nspark.a=3\n")

    read = linter.read_layer_file(str(path))

    assert read.findings == ()
    assert [(one.key, one.text, one.place.line) for one in read.entries] == [
        ("spark.a", "1", 2),
        ("spark.b", "2", 4),
        ("spark.a", "3", 6),
    ]


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        pytest.param(b"spark.a=1\nspark.b=\\u12\n", 2, "four hexadecimal digits", id="escape"),
        pytest.param(b"spark:\n  a: 1\n", None, "looks like YAML", id="YAML"),
        pytest.param(b"spark.a=c4nary\xff\n", None, "is not UTF-8", id="octets"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_finding(tmp_path: Path, content: bytes, line: int | None, problem: str):
    path = tmp_path / "base.properties"
    path.write_bytes(content)

    (found,) = linter.read_layer_file(str(path)).findings

    assert (found.rule.code, found.place.path, found.place.line) == ("CP003", str(path), line)
    assert problem in found.message
    assert "c4nary" not in found.message


def test_each_entry_of_a_yaml_file_has_its_line(tmp_path: Path):
    path = tmp_path / "base.yaml"
    path.write_text("spark:\n  a: 1\n  sql.b: two\nspark.a: 3\n")

    read = linter.read_layer_file(str(path))

    assert read.findings == ()
    assert [(one.key, one.text, one.place.line) for one in read.entries] == [
        ("spark.a", "1", 2),
        ("spark.sql.b", "two", 3),
        ("spark.a", "3", 4),
    ]


def test_a_problem_of_a_yaml_file_has_its_line(tmp_path: Path):
    path = tmp_path / "base.yaml"
    path.write_text("spark:\n  a: [c4nary]\n")

    (found,) = linter.read_layer_file(str(path)).findings

    assert (found.rule.code, found.place.line) == ("CP003", 2)
    assert found.message == "'spark.a' has a list. Write it as one string, such as \"a,b\"."


def test_a_problem_of_a_yaml_file_does_not_hide_its_other_entries(tmp_path: Path):
    path = tmp_path / "base.yaml"
    path.write_text("spark:\n  a: [c4nary]\n  b: 1\n  c:\nspark.d: 2\n")

    read = linter.read_layer_file(str(path))

    assert [one.place.line for one in read.findings] == [2, 4]
    assert [(one.key, one.place.line) for one in read.entries] == [("spark.b", 3), ("spark.d", 5)]


def test_a_pipe_does_not_block(tmp_path: Path):
    path = tmp_path / "base.properties"
    os.mkfifo(path)

    (found,) = linter.read_layer_file(str(path)).findings

    assert "not a regular file" in found.message


def test_each_problem_of_the_policies_has_its_line(tmp_path: Path):
    path = tmp_path / "policies.yaml"
    path.write_text("policies:\n- name: a\n  class: forbidden_keys\n  clas: x\n- name: b\n  class: nope\n")

    found = list(linter.check_policy_file(str(path)))

    assert {one.rule.code for one in found} == {"CP004"}
    assert {(one.place.path, one.place.line) for one in found} >= {(str(path), 2)}
    assert "did you mean 'class'" in found[0].message


def test_a_file_of_connections_is_told_how_to_check_it(tmp_path: Path):
    path = tmp_path / "connections.yaml"
    path.write_text("db: mysql://u:${env:PASSWORD}@h\n")

    (found,) = linter.check_policy_file(str(path))

    assert "expected 'policies:'" in found.message
    assert "check it with 'airflow config-providers doctor --only backend'." in found.message


def test_policies_that_load_are_no_finding(tmp_path: Path):
    path = tmp_path / "policies.yaml"
    path.write_text("policies:\n- name: a\n  class: forbidden_keys\n  params:\n    keys: spark.jars\n")

    assert list(linter.check_policy_file(str(path))) == []


def test_a_file_that_does_not_exist_is_a_finding(tmp_path: Path):
    (found,) = linter.check_policy_file(str(tmp_path / "nope.yaml"))

    assert "cannot be read" in found.message
