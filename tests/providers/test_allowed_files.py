from __future__ import annotations

import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from airflow_config_providers.exceptions import (
    AccessDeniedError,
    ConfigException,
    LimitExceededError,
    ProviderDefinitionError,
)
from airflow_config_providers.providers.allowed_files import AllowedFiles
from airflow_config_providers.providers.real_path import Steps, link_target

OTHER = 65_534
"""The user that root becomes."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("data", "data2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    return tmp_path


def read(allowed: object, path: object) -> bytes | None:
    return AllowedFiles.of({"allowed.paths": str(allowed)}).read(str(path))


@pytest.mark.parametrize("allowed", [{}, {"allowed.paths": ""}, {"allowed.paths": None}])
def test_without_allowed_paths_everything_may_be_read(root: Path, allowed: dict[str, str]) -> None:
    assert AllowedFiles.of(allowed).read(f"{root}/data/file") == b"data"


def test_a_relative_path_may_be_read_where_everything_may(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root / "data2")
    assert AllowedFiles().read("../data/file") == b"data"


def test_a_relative_path_that_is_denied_is_said_to_need_a_slash(root: Path) -> None:
    with pytest.raises(
        AccessDeniedError, match=r"data/file is not inside .* Write the whole path, which begins with a"
    ):
        AllowedFiles.of({"allowed.paths": str(root)}).read("data/file")


@pytest.mark.parametrize("allowed", [",", " ", " , ,"])
def test_an_empty_list_allows_nothing(root: Path, allowed: str) -> None:
    with pytest.raises(AccessDeniedError):
        read(allowed, root / "data" / "file")


@pytest.mark.parametrize(
    "allowed",
    [
        pytest.param("{root}/data", id="directory"),
        pytest.param("{root}/data/file", id="the file itself"),
        pytest.param("{root}", id="directory further up"),
        pytest.param("{root}/data2/../data/", id="written with a detour"),
        pytest.param(" {root}/data2 ,, {root}/data , ", id="list with blanks and empty items"),
    ],
)
def test_a_file_in_an_allowed_path_is_read(root: Path, allowed: str) -> None:
    assert read(allowed.format(root=root), root / "data" / "file") == b"data"


@pytest.mark.parametrize("name", ["a", "..", "data/.."])
def test_attack_14_a_path_of_very_many_names_is_refused_before_any_of_them_is_looked_up(root: Path, name: str) -> None:
    looked_up: list[Steps] = []
    files = AllowedFiles.of({"allowed.paths": str(root / "data")}, link=looked_up.append)
    with pytest.raises(ConfigException, match="has more than 256 names"):
        files.read(f"{root}/data/" + f"{name}/" * 30_000)
    assert not looked_up


@pytest.mark.parametrize("path", ["{root}//data///file", "/{root}/data/./file", "{root}/data2/../data/file"])
def test_a_path_is_compared_in_its_normal_form(root: Path, path: str) -> None:
    assert read(root / "data", path.format(root=root)) == b"data"


def test_an_allowed_directory_may_be_reached_through_a_link(root: Path) -> None:
    (root / "current").symlink_to("data")
    assert read(root / "current", root / "current" / "file") == b"data"


def test_an_allowed_link_is_followed_anew_each_time(root: Path) -> None:
    (root / "current").symlink_to("data")
    files = AllowedFiles.of({"allowed.paths": f"{root}/current/file"})
    first = files.read(f"{root}/current/file")
    (root / "current").unlink()
    (root / "current").symlink_to("data2")
    assert (first, files.read(f"{root}/current/file")) == (b"data", b"data2")


@pytest.mark.parametrize(
    "missing", ["{root}/data/no", "{root}/data/file/no", "{root}/data", "{root}/data/" + "n" * 300]
)
def test_no_regular_file_is_none(root: Path, missing: str) -> None:
    assert read(root / "data", missing.format(root=root)) is None


def test_no_directory_is_none(root: Path) -> None:
    files = AllowedFiles.of({"allowed.paths": str(root / "data")})
    found = [files.read_directory(f"{root}/data{below}", None) for below in ("", "/file", "/no")]
    assert found == [{"file": "data"}, None, None]


def test_a_file_that_this_user_may_not_read_is_denied(root: Path) -> None:
    (root / "data" / "file").chmod(0)
    files = AllowedFiles.of({"allowed.paths": str(root)})
    with not_as_root(), pytest.raises(AccessDeniedError, match="cannot be read by the user") as caught:
        files.read(f"{root}/data/file")
    name = pwd.getpwuid(os.geteuid() or OTHER).pw_name
    assert str(caught.value).endswith(f"by the user of this process, {name}. Give it read access.")


@contextmanager
def not_as_root() -> Iterator[None]:
    user = os.geteuid()
    os.seteuid(user or OTHER)
    try:
        yield
    finally:
        os.seteuid(user)


@pytest.mark.parametrize(("size", "limit"), [(0, 1), (10, 10)])
def test_a_file_as_large_as_the_limit_is_read(root: Path, size: int, limit: int) -> None:
    (root / "data" / "file").write_bytes(b"x" * size)
    assert AllowedFiles.of({"max.bytes": f" {limit} "}).read(f"{root}/data/file") == b"x" * size


def test_a_larger_file_is_an_error_that_names_the_limit(root: Path) -> None:
    (root / "data" / "file").write_bytes(b"x" * 11)
    with pytest.raises(LimitExceededError, match="larger than 10 bytes") as caught:
        AllowedFiles.of({"max.bytes": 10}).read(f"{root}/data/file")
    assert "max.bytes" in str(caught.value)


@pytest.mark.parametrize(
    ("configs", "problem"),
    [
        pytest.param({"allowed.paths": "data"}, "data is not absolute", id="relative"),
        pytest.param({"allowed.paths": "/no/such"}, "/no/such does not exist", id="missing"),
        pytest.param({"max.bytes": "0"}, "max.bytes is not a positive number", id="zero"),
        pytest.param({"max.bytes": "-5"}, "max.bytes is not a positive number", id="negative"),
        pytest.param({"max.bytes": "1 MB"}, "max.bytes is not a positive number", id="unit"),
        pytest.param({"max.bytes": "9" * 5000}, "max.bytes is not a positive number", id="endless"),
    ],
)
def test_wrong_parameters_are_refused(configs: dict[str, str], problem: str) -> None:
    with pytest.raises(ProviderDefinitionError, match=problem):
        AllowedFiles.of(configs)


def test_all_wrong_parameters_are_told_together() -> None:
    with pytest.raises(ProviderDefinitionError) as caught:
        AllowedFiles.of({"allowed.paths": "a,/no/such", "max.bytes": "x"})
    assert len(caught.value.problems) == 3


def test_attack_71_a_file_whose_directory_was_switched_and_removed_is_read_anew(root: Path) -> None:
    (root / "current").symlink_to("data")

    def link(path: Steps) -> str | None:
        target = link_target(path)
        if target == "data":
            (root / "data" / "file").unlink()
            (root / "new").symlink_to("data2")
            (root / "new").replace(root / "current")
        return target

    assert AllowedFiles.of({"allowed.paths": str(root)}, link=link).read(f"{root}/current/file") == b"data2"


def test_an_allowed_path_that_became_a_circle_of_links_allows_nothing(root: Path) -> None:
    (root / "current").symlink_to("data")
    files = AllowedFiles.of({"allowed.paths": f"{root}/current"})
    (root / "new").symlink_to("current")
    (root / "new").replace(root / "current")

    with pytest.raises(AccessDeniedError):
        files.require(f"{root}/current/file")


@pytest.mark.parametrize("path", ["/proc/self/environ", "/proc/1/environ"])
@pytest.mark.parametrize("allowed", ["/", "/proc", ""], ids=["root", "proc", "everything"])
def test_attack_04_what_processes_have_is_never_read(allowed: str, path: str) -> None:
    with pytest.raises(AccessDeniedError, match="is in /proc"):
        read(allowed, path)


def test_attack_04_a_link_into_proc_is_refused(root: Path) -> None:
    (root / "link").symlink_to("/proc/self/environ")

    with pytest.raises(AccessDeniedError, match="is in /proc"):
        read("/", root / "link")


@pytest.mark.parametrize("allowed", ["/", ""], ids=["root", "everything"])
def test_attack_04_a_link_into_proc_is_refused_in_a_directory(root: Path, allowed: str) -> None:
    (root / "data" / "link").symlink_to("/proc/self/environ")

    with pytest.raises(AccessDeniedError, match="is in /proc"):
        AllowedFiles.of({"allowed.paths": allowed}).read_directory(f"{root}/data", None)


@pytest.mark.parametrize("keys", [None, ["file", "other"]], ids=["all", "some"])
@pytest.mark.parametrize(
    ("successor", "found"),
    [pytest.param("data2", {"file": "data2"}, id="replaced"), pytest.param(None, None, id="removed")],
)
def test_a_directory_that_goes_while_it_is_read_is_read_anew(
    root: Path, successor: str | None, found: dict[str, str] | None, keys: list[str] | None
) -> None:
    def link(path: Steps) -> str | None:
        if path[-1] == "file" and not (root / "old").exists():
            (root / "data").rename(root / "old")
            if successor:
                (root / successor).rename(root / "data")
        return link_target(path)

    assert AllowedFiles.of({"allowed.paths": str(root)}, link=link).read_directory(f"{root}/data", keys) == found


def test_a_directory_that_is_replaced_while_it_is_read_may_give_all_that_was_asked_for(root: Path) -> None:
    def link(path: Steps) -> str | None:
        if path[-1] == "file":
            (root / "data").rename(root / f"old{len(list(root.iterdir()))}")
            (root / "data").mkdir()
            (root / "data" / "file").write_text("newer")
        return link_target(path)

    files = AllowedFiles.of({"allowed.paths": str(root)}, link=link)
    assert files.read_directory(f"{root}/data", ["file"]) == {"file": "data"}


def test_a_path_that_may_not_be_known_is_no_directory(root: Path) -> None:
    assert not AllowedFiles.of({"allowed.paths": f"{root}/data"}).is_directory(f"{root}/data2")
