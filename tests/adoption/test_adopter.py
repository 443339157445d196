"""The names of new layer files."""

from __future__ import annotations

from pathlib import Path

from airflow_config_providers.adoption.adopter import names_in

UNREADABLE = Path("/", "x" * 300)
"""A folder that no user can read: its name is too long."""


def test_a_folder_that_cannot_be_read_does_not_free_the_names_in_another_one(tmp_path: Path):
    (tmp_path / "shared-1.properties").touch()

    names, _ = names_in(tmp_path, UNREADABLE)

    assert names == {"shared-1.properties"}


def test_a_folder_that_cannot_be_read_is_reported(tmp_path: Path):
    _, unread = names_in(UNREADABLE, tmp_path)

    assert [one.path for one in unread] == [str(UNREADABLE)]


def test_a_folder_that_only_jobs_have_is_not_reported(tmp_path: Path):
    assert names_in(tmp_path / "nowhere") == (frozenset(), [])
