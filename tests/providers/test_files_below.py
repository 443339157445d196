"""What is wrong below the paths that a provider may read."""

from __future__ import annotations

import fcntl
import os
import pwd
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from airflow_config_providers.providers.allowed_files import AllowedFiles
from airflow_config_providers.providers.files_below import diagnose_below
from tests.limits import LONGEST

OTHER = 65_534


@pytest.fixture
def root() -> Iterator[Path]:
    """An allowed directory with a file, as Kubernetes mounts it; every user can enter it, unlike one of pytest."""
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield mounted(Path(folder, "allowed"))


def mounted(found: Path) -> Path:
    (found / "..2026").mkdir(parents=True)
    (found / "..2026" / "password").write_text("c4nary")
    (found / "..data").symlink_to("..2026")
    (found / "password").symlink_to("..data/password")
    for path in (found, found / "..2026"):
        path.chmod(0o755)
    (found / "..2026" / "password").chmod(0o644)
    return found


def diagnosed(root: Path) -> list[str]:
    found = list(diagnose_below(AllowedFiles.of({"allowed.paths": str(root)}), str(root)))
    return [f"{one.severity.name}: {one.what} {one.way_out}" for one in found]


@contextmanager
def as_user(number: int):
    before = os.geteuid()
    os.seteuid(before or number)
    try:
        yield
    finally:
        os.seteuid(before)


def test_nothing_is_wrong_with_what_kubernetes_mounts(root: Path):
    assert diagnosed(root) == []


def test_a_link_to_nothing_is_named(root: Path):
    (root / "gone").symlink_to("nowhere")

    assert diagnosed(root) == [
        f"WARNING: '{root}/gone' is a link that leads to nothing. Remove it, or create the file that it leads to."
    ]


def test_a_link_that_leads_out_of_the_allowed_paths_is_named(root: Path):
    (root / "out").symlink_to("/etc/hostname")

    (found,) = diagnosed(root)

    assert found.startswith(f"WARNING: {root}/out is not inside an allowed path, so it is not read.")


def test_a_file_that_cannot_be_read_is_named_with_the_user(root: Path):
    (root / "..2026" / "password").chmod(0)
    number = os.geteuid() or OTHER

    with as_user(number):
        found = diagnosed(root)

    user = pwd.getpwuid(number).pw_name
    assert found[0] == (
        f"WARNING: {root}/password cannot be read by the user of this process, {user}. Give it read access."
    )


def test_a_user_without_a_name_is_named_by_its_number(root: Path):
    if os.geteuid():
        pytest.skip("only root can become another user")
    (root / "..2026" / "password").chmod(0)

    with as_user(54_321):
        found = diagnosed(root)

    assert "the user of this process, 54321." in found[0]


def test_a_file_that_every_user_can_change_is_named(root: Path):
    (root / "..2026" / "password").chmod(0o666)

    assert diagnosed(root) == [
        f"ERROR: Every user of this machine can change '{root}/..2026/password'. chmod o-w {root}/..2026/password"
    ]


def test_of_many_problems_some_are_named(root: Path):
    for number in range(9):
        (root / f"gone{number}").symlink_to("nowhere")

    found = diagnosed(root)

    assert [line.partition("'")[2].partition("'")[0] for line in found] == [
        *(f"{root}/gone{number}" for number in range(3)),
        str(root),
    ]
    assert found[-1].startswith(f"WARNING: More is wrong below '{root}'.")


def test_only_some_of_very_many_files_are_looked_at(root: Path):
    for number in range(1_001):
        (root / f"file{number:04}").touch(0o644)
    (root / "zz").symlink_to("nowhere")

    assert diagnosed(root) == [
        f"WARNING: Only 1,000 names below '{root}' were looked at. Allow only the directories that are read."
    ]


def test_what_lies_below_a_path_is_part_of_the_diagnosis_of_a_provider(root: Path):
    (root / "gone").symlink_to("nowhere")

    found = [one.what for one in AllowedFiles.of({"allowed.paths": str(root)}).diagnose()]

    assert found == ["1 allowed path", f"'{root}/gone' is a link that leads to nothing."]


LOCKED = """
import fcntl, sys
from airflow_config_providers.providers.allowed_files import AllowedFiles

with open(sys.argv[1] + "/airflow.db", "w") as database:
    fcntl.lockf(database, fcntl.LOCK_EX)
    list(AllowedFiles.of({"allowed.paths": sys.argv[1]}).diagnose())
    print("examined", flush=True)
    input()
"""


def test_a_lock_of_this_process_on_a_file_below_stays(root: Path):
    with subprocess.Popen(
        [sys.executable, "-c", LOCKED, str(root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "examined\n"
        with Path(root, "airflow.db").open("w") as database, pytest.raises(BlockingIOError):
            fcntl.lockf(database, fcntl.LOCK_EX | fcntl.LOCK_NB)
        process.communicate("\n", timeout=LONGEST)
