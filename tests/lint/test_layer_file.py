"""Layer files, with the line of each entry or problem."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from airflow_config_providers.lint import other_files
from airflow_config_providers.lint.entry import LayerFile


def test_each_entry_has_its_line(tmp_path: Path):
    path = tmp_path / "base.properties"
    path.write_text("# comment\nspark.a=1\n\nspark.b=\\\n  2\nspark.a=3\n")

    read = other_files.read_layer_file(str(path))

    assert isinstance(read, LayerFile)
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

    (found,) = other_files.read_layer_file(str(path))

    assert (found.rule.code, found.place.path, found.place.line) == ("CP003", str(path), line)
    assert problem in found.message
    assert "c4nary" not in found.message


def test_each_entry_of_a_yaml_file_has_its_line(tmp_path: Path):
    path = tmp_path / "base.yaml"
    path.write_text("spark:\n  a: 1\n  sql.b: two\nspark.a: 3\n")

    read = other_files.read_layer_file(str(path))

    assert isinstance(read, LayerFile)
    assert [(one.key, one.text, one.place.line) for one in read.entries] == [
        ("spark.a", "1", 2),
        ("spark.sql.b", "two", 3),
        ("spark.a", "3", 4),
    ]


def test_a_problem_of_a_yaml_file_has_its_line(tmp_path: Path):
    path = tmp_path / "base.yaml"
    path.write_text("spark:\n  a: [c4nary]\n")

    (found,) = other_files.read_layer_file(str(path))

    assert (found.rule.code, found.place.line) == ("CP003", 2)
    assert found.message == "'spark.a' has a list. Write it as one string, such as \"a,b\"."


def test_a_pipe_does_not_block(tmp_path: Path):
    path = tmp_path / "base.properties"
    os.mkfifo(path)

    (found,) = other_files.read_layer_file(str(path))

    assert "not a regular file" in found.message
