"""What Airflow keeps in a repository that is its home is no part of a state."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

pytest.importorskip("airflow")

from airflow import configuration

from airflow_config_providers.planning.changed_files import kept_by_airflow
from tests.planning.test_changed_files import write
from tests.planning.test_git_revision import git

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

IGNORED = "airflow.cfg\n*.db\nlogs/*\nvenv/\nnotes.txt\nconf/*.yaml\n*.generated\ndata/\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository that is the home of Airflow."""
    (folder := tmp_path.resolve() / "home").mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    write(folder, {".gitignore": IGNORED, "dags/a.py": "x = 1"})
    monkeypatch.setattr(configuration, "AIRFLOW_HOME", str(folder))
    monkeypatch.setattr(configuration, "AIRFLOW_CONFIG", str(folder / "airflow.cfg"))
    monkeypatch.setattr(sys, "prefix", str(folder / "venv"))
    monkeypatch.setenv("AIRFLOW__CORE__DAGS_FOLDER", str(folder / "dags"))
    monkeypatch.setenv("AIRFLOW__LOGGING__BASE_LOG_FOLDER", str(folder / "logs"))
    monkeypatch.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", f"sqlite:///{folder}/data/own.sqlite?timeout=5")
    return folder


def is_kept(home: Path, name: str) -> bool:
    if not (home / name).exists():
        write(home, {name: ""})
    return kept_by_airflow(home, [f"{home}/{name}"]) == {f"{home}/{name}"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("airflow.cfg", True, id="the configuration"),
        pytest.param("airflow.db", True, id="the database"),
        pytest.param("data/own.sqlite", True, id="a database elsewhere"),
        pytest.param("airflow.db-wal", True, id="what SQLite keeps beside it"),
        pytest.param("data/own.sqlite-wal", True, id="beside that"),
        pytest.param("data/other.sqlite", False, id="another database"),
        pytest.param("logs/scheduler/latest.log", True, id="a log"),
        pytest.param("simple_auth_manager_passwords.json.generated", True, id="passwords"),
        pytest.param("venv/bin/python", True, id="this Python"),
        pytest.param("notes.txt", False, id="another file"),
        pytest.param("conf/prod.yaml", False, id="a layer file"),
        pytest.param("dags/airflow.db", False, id="the same name elsewhere"),
        pytest.param("airflow-scheduler.pid", False, id="not ignored"),
    ],
)
def test_what_git_ignores_and_airflow_keeps_is_found(home: Path, name: str, expected: bool):
    assert is_kept(home, name) is expected


@pytest.mark.parametrize("name", ["airflow.cfg", "logs/.gitkeep"])
def test_what_git_tracks_belongs_to_a_state(home: Path, name: str):
    write(home, {name: ""})
    git(home, "add", "--force", name)

    assert not is_kept(home, name)


@pytest.mark.parametrize("folder", ["", "dags/.."])
def test_logs_beside_the_dags_hide_nothing(home: Path, monkeypatch: pytest.MonkeyPatch, folder: str):
    monkeypatch.setenv("AIRFLOW__LOGGING__BASE_LOG_FOLDER", str(home / folder))

    assert not is_kept(home, "notes.txt")


def test_a_folder_of_logs_that_has_the_dags_hides_nothing(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AIRFLOW__LOGGING__BASE_LOG_FOLDER", str(home / "data"))
    monkeypatch.setenv("AIRFLOW__CORE__DAGS_FOLDER", str(home / "data/dags"))

    assert not is_kept(home, "data/dags/settings.json")
