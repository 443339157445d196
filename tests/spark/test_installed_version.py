"""The version of the Spark on this machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from airflow_config_providers.spark.installation import SparkInstallation, version_in


def spark(home: Path, *, release: str = "", jar: str = "") -> Path:
    """Lay out a Spark."""
    for name in ("bin/spark-submit", "bin/spark-class"):
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o755)
    (home / "jars").mkdir()
    if release:
        (home / "RELEASE").write_text(release)
    if jar:
        (home / "jars" / jar).touch()
    return home


@pytest.mark.parametrize(
    ("release", "jar", "expected"),
    [
        pytest.param("Spark 3.5.8 built for Hadoop 3.3.4\nflags", "", "3.5.8", id="an archive"),
        pytest.param("Spark 4.0.1 (git revision x) built", "", "4.0.1", id="an archive with a revision"),
        pytest.param("", "spark-core_2.13-4.2.0.jar", "4.2.0", id="a Python package"),
        pytest.param("", "spark-core_2.12-3.5.0-amzn-1.jar", "3.5.0-amzn-1", id="a vendor's"),
        pytest.param("nothing", "spark-core_2.13-4.2.0.jar", "4.2.0", id="another file"),
        pytest.param("", "", None, id="neither"),
    ],
)
def test_the_version_in_a_home(release: str, jar: str, expected: str | None, tmp_path: Path) -> None:
    assert version_in(spark(tmp_path / "spark", release=release, jar=jar)) == expected


def test_it_is_that_of_spark_home(tmp_path: Path) -> None:
    home = spark(tmp_path / "home", jar="spark-core_2.12-3.5.8.jar")
    other = spark(tmp_path / "other", jar="spark-core_2.13-4.2.0.jar")

    assert (
        SparkInstallation.of("spark-submit", {"SPARK_HOME": str(home), "PATH": str(other / "bin")}).version == "3.5.8"
    )


def test_it_is_that_of_the_command_without_spark_home(tmp_path: Path) -> None:
    home = spark(tmp_path / "home", jar="spark-core_2.12-3.5.8.jar")

    assert SparkInstallation.of("spark-submit", {"PATH": str(home / "bin")}).version == "3.5.8"


def test_there_is_none_without_spark(tmp_path: Path) -> None:
    assert SparkInstallation.of("spark-submit", {"PATH": str(tmp_path)}).version is None


def test_the_home_is_looked_for_once(tmp_path: Path) -> None:
    home = spark(tmp_path / "home", jar="spark-core_2.12-3.5.8.jar")
    found = SparkInstallation.of("spark-submit", {"PATH": str(home / "bin")})
    before = found.home
    (home / "bin" / "spark-class").unlink()

    assert found.home == before == home


def test_another_environment_leads_to_another_home(tmp_path: Path) -> None:
    home, other = spark(tmp_path / "home"), spark(tmp_path / "other")
    found = SparkInstallation.of("spark-submit", {"PATH": str(home / "bin")})

    assert (found.home, replace(found, environ={"SPARK_HOME": str(other)}).home) == (home, other)


def test_the_environment_is_not_shown(tmp_path: Path) -> None:
    assert "hidden" not in repr(SparkInstallation.of("spark-submit", {"PATH": str(tmp_path), "TOKEN": "hidden"}))
