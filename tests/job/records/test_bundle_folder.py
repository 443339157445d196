"""The folder of a version of a DAG bundle, and strings without it."""

from __future__ import annotations

import pytest

from airflow_config_providers.job.records.record import other_folder, unversioned, version_folder

FILE = "/bundles/git/versions/c0ffee/dags/flights.py"
FOLDER = "/bundles/git/versions/c0ffee"


@pytest.mark.parametrize(
    ("dag_file", "version", "folder"),
    [
        pytest.param(FILE, "c0ffee", FOLDER, id="version"),
        pytest.param(FILE, "", "", id="without a version"),
        pytest.param(FILE, "c0ff", "", id="part of a name"),
        pytest.param("", "c0ffee", "", id="unknown file"),
    ],
)
def test_the_folder_is_the_one_that_is_called_like_the_version(dag_file: str, version: str, folder: str):
    assert version_folder(dag_file, version) == folder


@pytest.mark.parametrize(
    ("other", "folder"),
    [
        pytest.param("/bundles/git/tracking_repo/dags/flights.py", "/bundles/git/tracking_repo", id="same file"),
        pytest.param("/bundles/git/tracking_repo/dags/europe/flights.py", "", id="moved since"),
        pytest.param("", "", id="unknown"),
    ],
)
def test_the_folder_of_another_version_has_the_same_file(other: str, folder: str):
    assert other_folder(other, FILE, FOLDER) == folder


def test_a_file_without_a_version_has_no_other_folder():
    assert other_folder(FILE, FILE, "") == ""


def test_paths_in_two_versions_of_a_bundle_are_the_same():
    texts = [f"{{{FOLDER},{FOLDER}/a.jar}}".replace("c0ffee", version) for version in ("c0ffee", "decade")]

    assert unversioned(texts[0], FOLDER) == unversioned(texts[1], "/bundles/git/versions/decade")


def test_paths_in_two_bundles_are_not_the_same():
    assert unversioned(FILE, FOLDER, "one") != unversioned(FILE, FOLDER, "two")


def test_without_a_folder_nothing_is_changed():
    assert unversioned(FILE, "", "git") == FILE
