"""What is below a path, and how it is divided."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.spark.audit.files import MOST_FILES, FileListing, FoundFile, Split, grouped, splits_of


def names(listing: FileListing, folder: Path) -> list[str]:
    return [os.path.relpath(file.path, folder) for file in listing.files]


def test_regular_files_are_listed_once_in_order(tmp_path: Path) -> None:
    for name in ("b/c.log", "b/a.log", "d.log"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)

    listing = FileListing.of([str(tmp_path), str(tmp_path / "b"), str(tmp_path / "d.log")])

    assert names(listing, tmp_path) == ["b/a.log", "b/c.log", "d.log"]
    assert [file.size for file in listing.files] == [7, 7, 5]


def test_links_are_never_followed_out_of_the_given_paths(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "circle").symlink_to(tmp_path / "in")
    (tmp_path / "in" / "passwd").symlink_to("/etc/passwd")
    (tmp_path / "in" / "dangling").symlink_to("nowhere")

    listing = FileListing.of([str(tmp_path / "in")])

    assert listing.files == []
    assert set(listing.skipped.values()) == {"a link"}
    assert len(listing.skipped) == 3


def test_a_given_path_can_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a").write_text("x")
    (tmp_path / "link").symlink_to("real")

    assert names(FileListing.of([str(tmp_path / "link")]), tmp_path) == ["real/a"]


def test_pipes_are_skipped_and_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    assert FileListing.of([str(tmp_path)]).skipped == {str(tmp_path.resolve() / "pipe"): "no regular file"}


def test_what_does_not_exist_is_named(tmp_path: Path) -> None:
    assert list(FileListing.of([str(tmp_path / "missing")]).unread.values()) == ["No such file or directory"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0)

    assert list(FileListing.of([str(tmp_path)]).unread.values()) == ["Permission denied"]


@given(size=st.integers(0, 1000), begin=st.integers(0, 1000), part=st.integers(1, 300))
def test_each_byte_is_in_one_split(size: int, begin: int, part: int) -> None:
    begin = min(begin, size)
    file = FoundFile("/nowhere", size, 0)
    found = [
        (split.begin, size if split.end is None else split.end) for split in splits_of(file, begin=begin, size=part)
    ]

    assert found[0][0] == begin
    assert found[-1][1] == size
    assert all(first[1] == second[0] for first, second in pairwise(found))


def test_many_small_files_are_few_groups() -> None:
    groups = list(grouped(Split(FoundFile(f"/{number}", 200, 0)) for number in range(100_000)))

    assert sum(map(len, groups)) == 100_000
    assert max(map(len, groups)) <= MOST_FILES
    assert len(groups) < 120
