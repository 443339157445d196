"""What is below a path, and how it is divided."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.spark.audit.leaks.file_listing import (
    MOST_FILES,
    FileListing,
    FoundFile,
    Split,
    group_of,
    grouped,
    row_of,
    splits_of,
)


def names(listing: FileListing, folder: Path) -> list[str]:
    return [os.path.relpath(file.path, folder) for file in listing.files]


def test_a_folder_can_be_named_by_a_url(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("x")

    assert names(FileListing.of([f"file://{tmp_path}"]), tmp_path) == ["a.log"]


def test_regular_files_are_listed_once_in_order(tmp_path: Path) -> None:
    for name in ("b/c.log", "b/a.log", "d.log"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)

    listing = FileListing.of([str(tmp_path), str(tmp_path / "b"), str(tmp_path / "d.log")])

    assert names(listing, tmp_path) == ["b/a.log", "b/c.log", "d.log"]
    assert [file.size for file in listing.files] == [7, 7, 5]


def test_a_file_is_listed_with_both_of_its_times(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("x")
    os.utime(tmp_path / "a.log", ns=(5, 7))

    [file] = FileListing.of([str(tmp_path)]).files

    assert (file.modified, file.changed) == (7, (tmp_path / "a.log").stat().st_ctime_ns)


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


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the path of a file with 1,000 bytes, and no holes."""
    path = tmp_path_factory.mktemp("files") / "full"
    path.write_bytes(b"x" * 1000)
    return str(path)


@given(size=st.integers(0, 1000), begin=st.integers(0, 1000), part=st.integers(1, 300))
def test_each_byte_is_in_one_split(full: str, size: int, begin: int, part: int) -> None:
    begin = min(begin, size)
    file = FoundFile(full, size, 0)
    found = [
        (split.begin, size if split.end is None else split.end) for split in splits_of(file, begin=begin, size=part)
    ]

    assert found[0][0] == begin
    assert found[-1][1] == size
    assert all(first[1] == second[0] for first, second in pairwise(found))


def test_a_file_whose_beginning_cannot_be_read_is_one_split_because_it_can_be_compressed() -> None:
    file = FoundFile("/nowhere", 1000, 0)

    assert list(splits_of(file, size=100)) == [Split(file)]


def test_many_small_files_are_few_groups() -> None:
    groups = list(grouped(Split(FoundFile(f"/{number}", 200, 0)) for number in range(100_000)))

    assert sum(map(len, groups)) == 100_000
    assert max(map(len, groups)) <= MOST_FILES
    assert len(groups) < 20


def test_objects_are_groups_of_fewer_because_each_is_a_request() -> None:
    groups = list(grouped(Split(FoundFile(f"s3://bucket/{number}", 200, 0)) for number in range(10_000)))

    assert max(map(len, groups)) < 1_100


def test_a_group_arrives_as_it_was_sent_but_for_times() -> None:
    splits = [Split(FoundFile("/a", 3, 5)), Split(FoundFile("/b\udcff", 90, 7), 30, 60)]

    assert list(group_of(row_of(splits))) == [
        Split(FoundFile("/a", 3, 0)),
        Split(FoundFile("/b\udcff", 90, 0), 30, 60),
    ]


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to(path)], ids=["pipe", "circle"])
def test_a_given_path_that_is_nothing_to_search_is_no_success(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "given")

    listing = FileListing.of([str(tmp_path / "given")])

    assert list(listing.unread.values()) == ["It is neither a folder nor a regular file."]


def test_splits_in_holes_are_left_out(tmp_path: Path) -> None:
    size, path = 1 << 40, tmp_path / "sparse"
    with path.open("wb") as file:
        file.write(b"begin")
        file.seek(size)
        file.write(b"end")

    splits = list(splits_of(FoundFile(str(path), path.stat().st_size, 0)))

    assert [(splits[0].begin, splits[-1].end)] == [(0, size + 3)]
    assert len(splits) <= 3


def test_a_file_that_is_one_hole_has_its_last_split(tmp_path: Path) -> None:
    path = tmp_path / "hole"
    path.touch()
    os.truncate(path, 1 << 40)

    splits = list(splits_of(FoundFile(str(path), 1 << 40, 0)))

    assert splits[-1].end == 1 << 40
    assert len(splits) <= 2


def test_names_of_any_bytes_are_listed(tmp_path: Path) -> None:
    odd = [b"new\nline", b"\xff\xfe", b"a#b%20:c d", b"<script>", b"\x1b[31m"]
    for name in odd:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).touch()

    assert {os.fsencode(name) for name in names(FileListing.of([str(tmp_path)]), tmp_path)} == set(odd)


@pytest.mark.slow
def test_a_hundred_thousand_files_of_a_folder_are_listed(tmp_path: Path) -> None:
    for number in range(100_000):
        (tmp_path / f"{number}.log").touch()

    assert len(FileListing.of([str(tmp_path)]).files) == 100_000


def test_a_folder_too_deep_for_a_path_is_named(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        for _ in range(60):
            os.mkdir("d" * 100, dir_fd=folder)
            inner = os.open("d" * 100, os.O_RDONLY, dir_fd=folder)
            os.close(folder)
            folder = inner
    finally:
        os.close(folder)

    listing = FileListing.of([str(tmp_path)])
    shutil.rmtree(tmp_path / ("d" * 100))  # pytest keeps folders, and the demo names those that it cannot search

    assert list(listing.unread.values()) == ["File name too long"]
