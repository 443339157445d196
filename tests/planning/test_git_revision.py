"""Files of revisions, from real repositories."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.planning.dag_folder import checked_out

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    (folder / "dags").mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / "dags" / "a.py").write_text("old")
    (folder / ".gitattributes").write_text("dags/a.py export-ignore\n")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "one")
    (folder / "dags" / "a.py").write_text("new")
    return folder


def test_files_are_those_of_the_revision(repository: Path):
    with checked_out("main", folder=str(repository / "dags")) as found:
        assert Path(found.inside(str(repository / "dags" / "a.py"))).read_text() == "old"


def test_the_files_are_removed_in_the_end(repository: Path):
    with checked_out("main", folder=str(repository)) as found:
        pass

    assert not found.folder.exists()


def test_the_work_in_progress_stays_as_it_is(repository: Path):
    with checked_out("main", folder=str(repository)):
        pass

    assert (repository / "dags" / "a.py").read_text() == "new"
    assert git(repository, "status", "--porcelain") == " M dags/a.py\n"


def test_hooks_do_not_run(repository: Path, tmp_path: Path):
    hook = repository / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)

    with checked_out("main", folder=str(repository)):
        pass

    assert not (tmp_path / "ran").exists()


def test_a_file_system_monitor_does_not_run(repository: Path, tmp_path: Path):
    git(repository, "config", "core.fsmonitor", f"touch {tmp_path}/ran; true")

    with checked_out("main", folder=str(repository)) as found:
        assert (found.folder / "dags" / "a.py").read_text() == "old"

    assert not (tmp_path / "ran").exists()


def test_a_hook_of_git_can_make_a_plan(repository: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GIT_INDEX_FILE", str(repository / ".git" / "index"))
    monkeypatch.setenv("GIT_DIR", "/nowhere")

    with checked_out("main", folder=str(repository)) as found:
        assert (found.folder / "dags" / "a.py").read_text() == "old"


@pytest.mark.parametrize("revision", ["v9", "--all", "main^{tree}", "^main", ""])
def test_what_is_no_commit_is_refused(repository: Path, revision: str):
    with pytest.raises(ConfigException, match="has no revision"), checked_out(revision, folder=str(repository)):
        pass


def test_a_folder_outside_of_a_repository_is_refused(tmp_path: Path):
    with pytest.raises(ConfigException, match="not in a Git repository"), checked_out("main", folder=str(tmp_path)):
        pass


def test_paths_go_in_and_out(repository: Path, tmp_path: Path):
    (tmp_path / "link").symlink_to(repository)
    with checked_out("main", folder=str(repository)) as found:
        inside = found.inside(str(tmp_path / "link" / "dags" / "a.py"))

        assert inside == str(found.folder / "dags" / "a.py")
        assert found.outside(inside) == str(repository / "dags" / "a.py")
        assert found.inside("/etc/hosts") == "/etc/hosts"


@pytest.mark.parametrize("is_absolute", [True, False], ids=["absolute", "relative"])
@pytest.mark.parametrize(("target", "content"), [("repository/dags/a.py", "old"), ("outside.py", "outside")])
def test_a_link_leads_where_it_leads_in_the_deployment(
    repository: Path, tmp_path: Path, target: str, content: str, is_absolute: bool
):
    (tmp_path / "outside.py").write_text("outside")
    (repository / "dags" / "link.py").symlink_to(tmp_path / target if is_absolute else f"../../{target}")
    git(repository, "add", "dags/link.py")
    git(repository, "commit", "--quiet", "--message", "two")

    with checked_out("main", folder=str(repository)) as found:
        assert (found.folder / "dags" / "link.py").read_text() == content


def test_a_link_that_leads_nowhere_or_to_itself_stays_one(repository: Path):
    for name, target in (("nowhere.py", "gone.py"), ("loop", "loop"), ("folder", ".")):
        (repository / "dags" / name).symlink_to(target)
    git(repository, "add", "dags")
    git(repository, "commit", "--quiet", "--message", "two")

    with checked_out("main", folder=str(repository)) as found:
        folder = found.folder / "dags"
        assert [(folder / name).readlink() for name in ("nowhere.py", "loop", "folder")] == [
            folder / "gone.py",
            folder / "loop",
            folder,
        ]


@pytest.fixture
def submodule(repository: Path, tmp_path: Path) -> Path:
    """A submodule in the DAGs folder, whose next commit is not in the revision."""
    source = tmp_path / "source"
    source.mkdir()
    git(source, "init", "--quiet", "--initial-branch=main")
    (source / "b.py").write_text("old")
    git(source, "add", ".")
    git(source, "commit", "--quiet", "--message", "one")
    git(repository, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(source), "dags/inner")
    git(repository, "commit", "--quiet", "--message", "two")
    inner = repository / "dags" / "inner"
    (inner / "b.py").write_text("new")
    git(inner, "commit", "--quiet", "--all", "--message", "two")
    return inner


def test_submodules_are_those_of_the_revision(repository: Path, submodule: Path):
    with checked_out("main", folder=str(repository / "dags")) as found:
        assert Path(found.inside(str(submodule / "b.py"))).read_text() == "old"


def test_a_submodule_in_the_folder_that_is_missing_is_refused(repository: Path, submodule: Path):
    git(repository, "submodule", "--quiet", "deinit", "--force", "dags/inner")

    with (
        pytest.raises(ConfigException, match="git submodule update --init"),
        checked_out("main", folder=str(repository / "dags")),
    ):
        pass


def test_a_submodule_elsewhere_may_be_missing(repository: Path, submodule: Path):
    git(repository, "submodule", "--quiet", "deinit", "--force", "dags/inner")
    (repository / "other").mkdir()

    with checked_out("main", folder=str(repository / "other")) as found:
        assert (found.folder / "dags" / "a.py").exists()
