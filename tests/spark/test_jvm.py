"""The JVM that PySpark starts, and what it reads."""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path

import pytest

from airflow_config_providers.spark.jvm import reading_properties


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
