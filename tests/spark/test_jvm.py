"""The JVM that PySpark starts, what it reads, and whether it can write temporary files."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from airflow_config_providers.spark.jvm import Unwritable, java_directory, reading_properties, unwritable
from tests.limits import LONGEST, eventually


def file_in(environ):
    """Return the properties file that Spark would read."""
    option, path, *rest = shlex.split(environ["PYSPARK_SUBMIT_ARGS"])
    assert (option, rest[-1]) == ("--properties-file", "pyspark-shell")
    return Path(path)


@pytest.mark.parametrize("anonymous", [True, False], ids=["memory", "file"])
def test_the_file_holds_the_configuration(anonymous):
    environ = {}
    with reading_properties({"spark.app.a": "b"}, environ, anonymous=anonymous):
        assert file_in(environ).read_text().strip() == "spark.app.a=b"


def test_a_temporary_directory_with_a_blank_in_its_name_is_one_argument(tmp_path, monkeypatch):
    (tmp_path / "my files").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "my files"))

    environ = {}
    with reading_properties({}, environ, anonymous=False):
        assert file_in(environ).exists()


@pytest.mark.parametrize("before", [{}, {"PYSPARK_SUBMIT_ARGS": "--jars a.jar pyspark-shell"}], ids=["none", "others"])
def test_the_arguments_are_as_they_were_afterwards(before):
    environ = dict(before)
    with reading_properties({}, environ):
        assert environ["PYSPARK_SUBMIT_ARGS"].endswith(before.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))

    assert environ == before


CLOSED = """
import ctypes, os, shlex, signal, subprocess
from airflow_config_providers.spark.jvm import reading_properties

prctl = ctypes.CDLL(None).prctl
prctl(24, 19, 0, 0, 0)  # PR_CAPBSET_DROP, CAP_SYS_PTRACE: root's children may no longer look into other processes
prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE, as Airflow sets it: no process of the same user may look into this one
environ = {}
with reading_properties({"spark.app.a": "b"}, environ):
    path = shlex.split(environ["PYSPARK_SUBMIT_ARGS"])[1]
"""
OF_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="prctl is a call of Linux")


def printed(block, *, after="", returncode=0):
    """Return the lines that a process prints which no other may look into, while it has the file, and afterwards."""
    program = f"{CLOSED}    {block}\n{after}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=LONGEST)
    assert (done.returncode, done.stderr) == (returncode, "")
    return done.stdout.splitlines()


@OF_LINUX
def test_the_jvm_of_a_process_that_is_closed_to_others_reads_a_file_in_memory():
    read = 'print(oct(os.stat(path).st_mode)[-3:], subprocess.check_output(["cat", path], text=True).strip())'

    assert printed(read, after="print(os.path.exists(path))") == ["400 spark.app.a=b", "False"]


@OF_LINUX
def test_what_holds_the_file_ends_with_a_process_that_is_killed():
    kill = "print(path, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    (path,) = printed(kill, returncode=-signal.SIGKILL)

    assert eventually(lambda: not Path(path).exists())


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
