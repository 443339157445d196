"""Who else may change or read a file that the deployment relies on."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_config_providers.core.diagnosis import Severity
from airflow_config_providers.providers.checks import rights_of


@pytest.fixture
def file(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o755)
    path = folder / "base.properties"
    path.write_text("spark.a=1\n")
    return path


@pytest.mark.parametrize(
    ("mode", "folder_mode", "is_secret", "expected"),
    [
        pytest.param(0o644, 0o755, False, [], id="usual"),
        pytest.param(0o600, 0o755, True, [], id="secret"),
        pytest.param(0o646, 0o755, False, [(Severity.ERROR, "can change", "chmod o-w ")], id="writable"),
        pytest.param(0o644, 0o755, True, [(Severity.WARNING, "can read", "chmod o-r ")], id="readable secret"),
        pytest.param(0o644, 0o777, False, [(Severity.ERROR, "can replace", "chmod o-w ")], id="open folder"),
        pytest.param(0o644, 0o1777, False, [(Severity.WARNING, "can create it", "Move it")], id="like /tmp"),
        pytest.param(0o664, 0o775, False, [], id="a group of its own"),
    ],
)
def test_rights_of_others_are_found(file: Path, mode: int, folder_mode: int, is_secret: bool, expected: list):
    file.chmod(mode)
    file.parent.chmod(folder_mode)

    found = list(rights_of(str(file), is_secret=is_secret))

    assert [(one.severity, True, True) for one in found] == [
        (severity, words in found[0].what, start in found[0].way_out) for severity, words, start in expected
    ]


def test_the_file_behind_a_link_counts(file: Path, tmp_path: Path):
    (tmp_path / "link").symlink_to(file)
    file.chmod(0o646)

    assert [one.severity for one in rights_of(str(tmp_path / "link"))] == [Severity.ERROR]


@pytest.mark.parametrize("path", ["/nowhere/x", "/nowhere/\0", "/nowhere/\ud800"], ids=["missing", "NUL", "surrogate"])
def test_a_file_that_is_not_there_is_an_error(path: str):
    (found,) = rights_of(path)

    assert found.severity is Severity.ERROR
    assert "cannot be read" in found.what


def test_a_secret_in_the_place_of_its_path_is_not_shown():
    (found,) = rights_of("hvs.c4nary", is_secret=True)

    assert found.what == "'[hidden, because it does not begin with /]' cannot be read: No such file or directory."


def test_a_command_can_be_pasted_whatever_the_name(tmp_path: Path):
    path = tmp_path / "a; rm -rf $HOME"
    path.write_text("")
    path.chmod(0o646)

    (found,) = rights_of(str(path))

    assert found.way_out == f"chmod o-w '{path}'"
