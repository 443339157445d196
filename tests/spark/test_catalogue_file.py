"""The files of the catalogue."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_config_providers.core.keys import current_name, older_names
from airflow_config_providers.spark import catalogue_file
from airflow_config_providers.spark.catalogue_file import catalogued, rows, versions, versions_with
from tests.project_tools import imported_tool

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tool() -> Iterator[Any]:
    pytest.importorskip("pyspark", reason="pip install pyspark")
    with imported_tool("generate_spark_catalogue") as found:
        yield found


GENERATED = """
import json
from pathlib import Path

import pyspark
from generate_spark_catalogue import committed, generated

made = generated(Path(pyspark.__file__).parent)
found = [{block: dict(rows) for block, rows in one.blocks.items()} for one in (made, committed(made.minor))]
print("FOUND", json.dumps(found))
"""


@pytest.mark.slow
@pytest.mark.integration
def test_the_files_are_what_the_generator_writes_for_the_installed_spark() -> None:
    """In a process of its own: in this one, another test can have changed how PySpark reports errors."""
    pytest.importorskip("pyspark", reason="pip install pyspark")
    command = [sys.executable, "-c", GENERATED]
    done = subprocess.run(command, cwd=ROOT / "tools", check=True, capture_output=True, text=True)
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("FOUND ")]

    made, theirs = json.loads(line.removeprefix("FOUND "))
    for block, rows_ in made.items():
        assert rows_ == theirs[block], "run tools/generate_spark_catalogue.py"


@pytest.mark.parametrize("name", [catalogue_file.CATALOGUE, catalogue_file.NOTES])
def test_writing_what_was_read_changes_nothing(name: str, tool: Any) -> None:
    blocks = ("notes",) if name == catalogue_file.NOTES else ("public", "internal", "older", "unlisted")
    installed = Path(catalogue_file.__file__).with_name(name)

    assert tool._json([tool.committed(minor) for minor in versions()], blocks) == installed.read_text()


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        pytest.param(None, "4.3", id="unknown"),
        pytest.param("3.5.1", "3.5", id="another bug fix version"),
        pytest.param("3.5.0-amzn-1", "3.5", id="of a vendor"),
        pytest.param("4.2.0", "4.2", id="the same"),
        pytest.param("3.3.2", "3.5", id="older than all"),
        pytest.param("5.0.0", "4.3", id="newer than all"),
        pytest.param("unreleased", "4.3", id="no version"),
        pytest.param(f"3.{'5' * 5000}", "4.3", id="no number of a version"),
    ],
)
def test_the_rows_of_the_nearest_version_are_used(version: str | None, expected: str) -> None:
    assert catalogued(version) == expected


def test_the_versions_are_known() -> None:
    assert list(versions()) == ["3.5", "4.0", "4.1", "4.2", "4.3"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("spark.executor.memory", ["3.5", "4.0", "4.1", "4.2", "4.3"], id="in all"),
        pytest.param("spark.api.mode", ["4.0", "4.1", "4.2", "4.3"], id="new in 4.0"),
        pytest.param("spark.mesos.containerizer", ["3.5"], id="gone after 3.5"),
        pytest.param("spark.yarn.keytab", ["3.5", "4.0", "4.1", "4.2", "4.3"], id="an older name"),
        pytest.param("spark.myteam.x", [], id="in none"),
    ],
)
def test_the_versions_that_have_a_key(name: str, expected: list[str]) -> None:
    assert versions_with(name) == expected


def test_policies_know_every_older_name_that_is_settled_with_its_current_one() -> None:
    """If not, a change of the older name would pass by a policy about the current one."""
    pairs = {name: row.split()[1] for minor in versions() for name, row in rows(minor).older.items()}

    assert {a: b for a, b in pairs.items() if current_name(a, older_names()) != current_name(b, older_names())} == {}


def test_types_are_read_without_the_documentation() -> None:
    script = """
import json
from airflow_config_providers.spark import catalogue_file
from airflow_config_providers.spark.catalogue import spark_definition
spark_definition("3.5.8").config_keys["spark.executor.memory"]
print(json.dumps(catalogue_file._file.cache_info().currsize))
"""
    output = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout

    assert json.loads(output) == 1
