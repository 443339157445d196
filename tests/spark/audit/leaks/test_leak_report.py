"""Values in paths."""

from __future__ import annotations

from pathlib import Path

from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.spark.audit.leaks.file_listing import FileListing
from airflow_config_providers.spark.audit.leaks.leak_finder import KnownSecret, LeakFinder
from airflow_config_providers.spark.audit.leaks.leak_report import RevealingPaths

NAME = ConfigVariable("vault", "apps/db", "name")


def test_a_value_below_a_given_path_is_a_leak(tmp_path: Path) -> None:
    (tmp_path / "of-c4nary-name").mkdir()
    (tmp_path / "of-c4nary-name" / "a.log").touch()

    found = RevealingPaths.of(
        FileListing.of([str(tmp_path)]), [str(tmp_path)], LeakFinder([KnownSecret(NAME, "c4nary-name")])
    )

    shown = f"{tmp_path.resolve()}/of-{NAME}/a.log"
    assert list(found.shown.values()) == [shown]
    assert [(leak.file, leak.offset, leak.line) for leak in found.leaks] == [(shown, len(str(tmp_path)) + 4, 0)]


def test_a_value_in_a_given_path_is_one_leak_and_is_shown_nowhere(tmp_path: Path) -> None:
    """For example, because a shell has made ``logs/*`` the folders in it."""
    folder = tmp_path.resolve() / "of-c4nary-name"
    folder.mkdir()
    (folder / "a.log").touch()
    (folder / "b.log").symlink_to("a.log")

    found = RevealingPaths.of(
        FileListing.of([str(folder)]), [str(folder)], LeakFinder([KnownSecret(NAME, "c4nary-name")])
    )

    shown = f"{folder.parent}/of-{NAME}"
    assert {found.show(f"{folder}/{name}") for name in ("a.log", "b.log")} == {f"{shown}/a.log", f"{shown}/b.log"}
    assert [(leak.file, leak.offset, leak.line) for leak in found.leaks] == [(shown, len(str(tmp_path)) + 4, 0)]


def test_a_link_that_is_named_after_a_value_is_a_leak(tmp_path: Path) -> None:
    (tmp_path / "of-c4nary-name").symlink_to("a.log")

    found = RevealingPaths.of(
        FileListing.of([str(tmp_path)]), [str(tmp_path)], LeakFinder([KnownSecret(NAME, "c4nary-name")])
    )

    assert [leak.file for leak in found.leaks] == [f"{tmp_path.resolve()}/of-{NAME}"]


def test_the_folder_of_the_logs_as_a_value_is_no_leak(tmp_path: Path) -> None:
    (tmp_path / "a.log").touch()

    found = RevealingPaths.of(
        FileListing.of([str(tmp_path)]), [str(tmp_path)], LeakFinder([KnownSecret(NAME, str(tmp_path.resolve()))])
    )

    assert found == RevealingPaths({}, [])
