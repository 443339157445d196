"""Values in paths."""

from __future__ import annotations

from pathlib import Path

from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.spark.audit.files import FileListing
from airflow_config_providers.spark.audit.leak_finder import KnownSecret, LeakFinder
from airflow_config_providers.spark.audit.telling_paths import TellingPaths

NAME = ConfigVariable("vault", "apps/db", "name")


def test_a_value_below_a_given_path_is_a_leak(tmp_path: Path) -> None:
    (tmp_path / "of-c4nary-name").mkdir()
    (tmp_path / "of-c4nary-name" / "a.log").touch()

    found = TellingPaths.of(
        FileListing.of([str(tmp_path)]), [str(tmp_path)], LeakFinder([KnownSecret(NAME, "c4nary-name")])
    )

    shown = f"{tmp_path.resolve()}/of-{NAME}/a.log"
    assert list(found.shown.values()) == [shown]
    assert [(leak.file, leak.offset, leak.line) for leak in found.leaks] == [(shown, len(str(tmp_path)) + 4, 0)]


def test_a_given_path_itself_is_no_leak(tmp_path: Path) -> None:
    """For example, a reference whose value is the folder of the logs."""
    (tmp_path / "a.log").touch()

    found = TellingPaths.of(
        FileListing.of([str(tmp_path)]), [str(tmp_path)], LeakFinder([KnownSecret(NAME, str(tmp_path.resolve()))])
    )

    assert found == TellingPaths({}, [])
