"""Whether Spark can write temporary files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from airflow_config_providers.spark.jvm import Unwritable, java_directory, unwritable

OPTION = "-Djava.io.tmpdir="


@pytest.mark.parametrize(
    ("environ", "directory"),
    [
        pytest.param({}, "/tmp", id="default"),
        pytest.param({"TMPDIR": "/other"}, "/tmp", id="variable-that-java-ignores"),
        pytest.param({"SPARK_SUBMIT_OPTS": f"-Xmx1g {OPTION}/a -Dx=y"}, "/a", id="among-options"),
        pytest.param({"SPARK_SUBMIT_OPTS": f"'{OPTION}/a'"}, "/a", id="in-quotes"),
        pytest.param({"JAVA_TOOL_OPTIONS": f'{OPTION}"/a b"'}, "/a b", id="with-a-blank"),
        pytest.param({"JAVA_TOOL_OPTIONS": f"-Dx=' {OPTION}/a"}, "/a", id="a-quote-without-an-end"),
        pytest.param({"JAVA_TOOL_OPTIONS": f"{OPTION}/a {OPTION}/b"}, "/b", id="twice"),
        pytest.param({"_JAVA_OPTIONS": f"{OPTION}/a", "SPARK_SUBMIT_OPTS": f"{OPTION}/b"}, "/a", id="two-variables"),
    ],
)
def test_the_directory_is_that_of_java(environ: dict[str, str], directory: str) -> None:
    assert java_directory(environ) == directory


@pytest.mark.parametrize("name", ["", "missing/below"])
def test_a_directory_that_can_be_written_is_no_problem_and_stays_as_it_is(tmp_path: Path, name: str) -> None:
    assert [*unwritable({"SPARK_SUBMIT_OPTS": f"{OPTION}{tmp_path / name}"})] == []
    assert [*tmp_path.iterdir()] == []


def test_a_directory_that_cannot_be_written_is_named_with_the_variable_that_sets_another(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    found = [*unwritable({"SPARK_SUBMIT_OPTS": f"{OPTION}{tmp_path}/file"})]

    assert found == [
        Unwritable(
            f"Spark cannot write temporary files to {tmp_path}/file: Not a directory.",
            "Make room there or make it writable, or add -Djava.io.tmpdir=DIRECTORY to the variable SPARK_SUBMIT_OPTS.",
        )
    ]


SHOWN = """
from airflow_config_providers.spark.jvm import unwritable

for found in unwritable({}):
    print(*found)
"""


def test_a_disk_that_takes_only_empty_files_is_full_for_java_and_python() -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", 'ulimit -f 0; "$0" -B -c "$1" | cat', sys.executable, SHOWN],
        capture_output=True,
        text=True,
        check=True,
    )

    assert [line.partition(".")[0] for line in done.stdout.splitlines()] == [
        "Spark cannot write temporary files to /tmp: File too large",
        "Python can write temporary files nowhere",
    ]
