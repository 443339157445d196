"""Objects in a store, read as files are."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fsspec")

from fsspec import AbstractFileSystem, filesystem

from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.spark.audit.leaks.file_blocks import blocks, opened
from airflow_config_providers.spark.audit.leaks.file_listing import SPLIT, FileListing, FoundFile, splits_of
from airflow_config_providers.spark.audit.leaks.fingerprint import FingerprintKey
from airflow_config_providers.spark.audit.leaks.leak import Found, FoundLeak
from airflow_config_providers.spark.audit.leaks.leak_finder import KnownSecret
from airflow_config_providers.spark.audit.leaks.leak_report import RevealingPaths
from airflow_config_providers.spark.audit.leaks.object_clients import FsspecObjects
from airflow_config_providers.spark.audit.leaks.object_store import (
    FAR_BLOCK,
    ObjectStore,
    RefusedError,
    StoredObject,
    mounted,
)
from airflow_config_providers.spark.audit.leaks.reversed_copies import target_of, write_copies
from airflow_config_providers.spark.audit.leaks.seen_files import SearchedFile, grown_since, is_unchanged
from airflow_config_providers.spark.audit.leaks.sought import Sought
from tests.spark.audit.leaks.searching import QUIET, search

PASSWORD = ConfigVariable("vault", "apps/db", "password")
VALUE = "c4nary-Pa$$w0rd/of+the=audit"
FINDER = Sought([KnownSecret(PASSWORD, VALUE)]).finder()
KEY = FingerprintKey(b"the key of the fingerprints .....")
ROOT = "memory://logs_store@bucket"


class Bucket:
    """
    A bucket in memory.

    :param asked: the size of each request
    :param failure: what each request raises; None for nothing
    """

    def __init__(self) -> None:
        self.filesystem = filesystem("memory")
        self.asked: list[int] = []
        self.failure: Exception | None = None
        self._objects = FsspecObjects(self.filesystem, "/bucket")

    def below(self, key: str) -> Iterator[StoredObject]:
        yield from self._objects.below(key)
        self._fail()

    def read(self, key: str, start: int, end: int) -> bytes:
        self.asked.append(end - start)
        self._fail()
        return self._objects.read(key, start, end)

    def _fail(self) -> None:
        if self.failure:
            raise self.failure

    def put(self, key: str, content: bytes) -> None:
        self.filesystem.pipe(f"/bucket/{key}", content)

    def file(self, key: str) -> FoundFile:
        return next(file for file in FileListing.of([ROOT]).files if file.path == f"{ROOT}/{key}")


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    found = Bucket()
    with mounted([ObjectStore(ROOT, found)]):
        yield found
    found.filesystem.store.clear()
    found.filesystem.pseudo_dirs[:] = [""]


def searched(file: FoundFile) -> list[Found[FoundLeak]]:
    return [search(split, FINDER) for split in splits_of(file)]


def offsets(results: list[Found[FoundLeak]]) -> list[int]:
    return [leak.occurrence.start for one in results for leak in one.leaks]


class TestListing:
    def test_objects_below_a_path_are_listed_with_the_connection(self, bucket: Bucket) -> None:
        for key in ("logs/b/c.log", "logs/a.log", "logs/b/a.log", "other/d.log", "logs-old/e.log"):
            bucket.put(key, key.encode())

        listing = FileListing.of([f"{ROOT}/logs/"])

        assert [file.path for file in listing.files] == [
            f"{ROOT}/logs/{name}" for name in ("a.log", "b/a.log", "b/c.log")
        ]
        assert [file.size for file in listing.files] == [10, 12, 12]
        assert all(file.modified > 0 for file in listing.files)

    def test_one_object_can_be_named(self, bucket: Bucket) -> None:
        bucket.put("logs/a.log", b"x")

        assert [file.path for file in FileListing.of([f"{ROOT}/logs/a.log"]).files] == [f"{ROOT}/logs/a.log"]

    def test_what_does_not_exist_is_named(self, bucket: Bucket) -> None:
        listing = FileListing.of([f"{ROOT}/missing"])

        assert listing.unread == {f"{ROOT}/missing": "It cannot be listed: No such file or directory."}

    def test_an_error_of_the_store_is_named_without_its_message(self, bucket: Bucket) -> None:
        bucket.put("a.log", b"x")
        bucket.failure = RuntimeError("https://host/?sig=c4nary")

        assert FileListing.of([ROOT]).unread == {ROOT: "It cannot be listed: RuntimeError."}

    def test_what_was_listed_before_the_store_failed_is_searched(self, bucket: Bucket) -> None:
        bucket.put("a.log", b"x")
        bucket.failure = RefusedError("ExpiredToken")

        listing = FileListing.of([ROOT])

        assert [file.path for file in listing.files] == [f"{ROOT}/a.log"]
        assert listing.unread == {ROOT: "It cannot be listed: the store refused it (ExpiredToken)."}

    def test_a_store_that_is_not_mounted_is_named(self) -> None:
        assert list(FileListing.of(["s3://other/logs"]).unread) == ["s3://other/logs"]


class Listed:
    """
    A file system whose entries a test chooses.

    :param entries: folder -> its entries, or what listing it raises
    """

    def __init__(self, **entries: Any) -> None:
        self._entries = {f"/bucket/{folder}".rstrip("/"): found for folder, found in entries.items()}

    def info(self, name: str) -> dict[str, Any]:
        return {"name": name.rstrip("/"), "type": "directory"}

    def ls(self, name: str, *, detail: bool) -> list[dict[str, Any]]:
        if isinstance(found := self._entries[name.rstrip("/")], Exception):
            raise found
        return [{"size": 1, "type": "file", **entry, "name": f"/bucket{entry['name']}"} for entry in found]

    def invalidate_cache(self) -> None:
        """Have none."""

    find = AbstractFileSystem.find


class TestFsspec:
    def listed(self, **entries: Any) -> FileListing:
        with mounted([ObjectStore(ROOT, FsspecObjects(Listed(**entries), "/bucket"))]):
            return FileListing.of([ROOT])

    def test_folders_are_walked(self) -> None:
        below = [{"name": "/logs/a.log"}]

        listing = self.listed(**{"": [{"name": "/logs", "type": "directory"}, {"name": "/b.log"}], "logs": below})

        assert [file.path for file in listing.files] == [f"{ROOT}/b.log", f"{ROOT}/logs/a.log"]

    def test_a_folder_that_cannot_be_listed_is_named(self) -> None:
        listing = self.listed(**{"": [{"name": "/logs", "type": "directory"}], "logs": PermissionError()})

        assert listing.unread == {ROOT: "It cannot be listed: Permission denied."}

    @pytest.mark.parametrize("entry", [{"size": None}, {"type": "link"}], ids=["size", "link"])
    def test_what_cannot_be_read_is_named(self, entry: dict[str, Any]) -> None:
        listing = self.listed(**{"": [{"name": "/a.log", **entry}]})

        assert listing.unread == {f"{ROOT}/a.log": "It is no file, or its store does not say how large it is."}

    def test_what_is_elsewhere_is_not_followed(self) -> None:
        assert self.listed(**{"": [{"name": "2/a.log"}]}) == self.listed(**{"": []})

    @pytest.mark.parametrize(
        "modified",
        [
            pytest.param({"updated": "2026-11-25T08:00:00Z"}, id="text"),
            pytest.param({"mtime": 1795593600.0}, id="seconds"),
        ],
    )
    def test_times_and_etags_of_stores_are_known_by_their_names(self, modified: dict[str, Any]) -> None:
        listing = self.listed(**{"": [{"name": "/a.log", "ETag": '"0a1b"', **modified}]})

        assert listing.files == [FoundFile(f"{ROOT}/a.log", 1, 1795593600 * 10**9, "0a1b")]


class TestSearch:
    def test_leaks_at_the_seams_of_splits_and_requests_are_found(self, bucket: Bucket) -> None:
        places = [0, FAR_BLOCK - 5, SPLIT - 5, SPLIT, SPLIT + FAR_BLOCK - 1, SPLIT + FAR_BLOCK + 100]
        content = bytearray(QUIET * ((SPLIT + 2 * FAR_BLOCK) // len(QUIET)))
        for place in places:
            content[place : place + len(VALUE)] = VALUE.encode()
        places.remove(SPLIT)  # which has overwritten the one before
        content[SPLIT - 5 : SPLIT - 5 + len(VALUE)] = VALUE.encode()
        bucket.put("large.log", bytes(content))

        assert offsets(searched(bucket.file("large.log"))) == places

    def test_a_large_object_is_read_in_large_requests(self, bucket: Bucket) -> None:
        bucket.put("large.log", bytes(3 * FAR_BLOCK))
        file = bucket.file("large.log")

        searched(file)

        assert max(bucket.asked) == FAR_BLOCK
        assert sorted(bucket.asked)[-3:] == [FAR_BLOCK] * 3
        assert len(bucket.asked) <= 7

    def test_a_small_object_is_one_request(self, bucket: Bucket) -> None:
        bucket.put("small.log", QUIET + VALUE.encode())

        assert offsets(searched(bucket.file("small.log"))) == [len(QUIET)]
        assert bucket.asked == [len(QUIET) + len(VALUE)]

    def test_compressed_objects_are_recognized(self, bucket: Bucket) -> None:
        bucket.put("a", gzip.compress(QUIET + VALUE.encode()))

        assert offsets(searched(bucket.file("a"))) == [len(QUIET)]

    @pytest.mark.parametrize("size", [10, 3 * FAR_BLOCK])
    def test_an_object_that_vanished_is_named(self, bucket: Bucket, size: int) -> None:
        bucket.put("a.log", bytes(size))
        file = bucket.file("a.log")
        bucket.filesystem.rm("/bucket/a.log")

        assert [one.problem for one in searched(file)] == ["It cannot be read: No such file or directory."]

    def test_an_object_that_became_shorter_is_named(self, bucket: Bucket) -> None:
        bucket.put("a.log", bytes(100))
        file = bucket.file("a.log")
        bucket.put("a.log", bytes(10))

        assert [one.problem for one in searched(file)] == ["It became shorter while it was read."]

    def test_a_search_leaves_no_thread(self, bucket: Bucket) -> None:
        bucket.put("a.log", bytes(3 * FAR_BLOCK))
        before = threading.active_count()

        with opened(f"{ROOT}/a.log", 3 * FAR_BLOCK) as source:
            reading = blocks(source, 0, None)
            next(reading)
            reading.close()

        assert threading.active_count() == before

    def test_a_store_that_is_away_is_not_asked_for_ever(self, bucket: Bucket) -> None:
        for number in range(20):
            bucket.put(f"{number}.log", b"x")
        files = FileListing.of([ROOT]).files
        bucket.failure = ConnectionError("https://key:c4nary@host")

        problems = [one.problem for file in files for one in searched(file)]

        assert problems[0] == "It cannot be read: ConnectionError."
        assert problems[-1] == "Its store was not asked again after several failures: ConnectionError."
        assert len(bucket.asked) == 5

    @pytest.mark.parametrize(
        "failure",
        [RefusedError("AccessDenied"), FileNotFoundError(), OSError("Forbidden: bucket/key")],
        ids=["denied", "missing", "gcsfs"],
    )
    def test_a_store_that_answers_is_asked_for_all(self, bucket: Bucket, failure: Exception) -> None:
        for number in range(20):
            bucket.put(f"{number}.log", b"x")
        files = FileListing.of([ROOT]).files
        bucket.failure = failure

        assert all(one.problem for file in files for one in searched(file))
        assert len(bucket.asked) == 20


class TestState:
    def test_another_etag_is_another_content(self) -> None:
        seen = SearchedFile(FoundFile("s3://b/a", 1, 2, "one"))

        assert is_unchanged(FoundFile("s3://b/a", 1, 2, "one"), seen)
        assert not is_unchanged(FoundFile("s3://b/a", 1, 2, "two"), seen)

    def test_an_object_whose_store_says_nothing_is_searched_again(self) -> None:
        assert not is_unchanged(FoundFile("x://b/a", 1, 0), SearchedFile(FoundFile("x://b/a", 1, 0)))

    @pytest.mark.parametrize(("lines", "is_begun"), [(100, False), (200_000, True)], ids=["small", "large"])
    def test_of_a_large_object_that_has_grown_only_the_end_is_read(
        self, bucket: Bucket, lines: int, is_begun: bool
    ) -> None:
        bucket.put("a.log", QUIET * lines)
        [before] = searched(bucket.file("a.log"))
        seen = SearchedFile(bucket.file("a.log"), before._replace(leaks=(), ends=KEY.of_ends(before.ends)))
        bucket.put("a.log", QUIET * (lines + 1))

        grown = grown_since(bucket.file("a.log"), seen, margin=0, key=KEY)

        assert (grown is not None and grown.file.size == lines * len(QUIET)) == is_begun


class TestCopies:
    def test_a_copy_of_an_object_is_a_local_file(self, bucket: Bucket, tmp_path: Path) -> None:
        bucket.put("logs/a.log", QUIET + VALUE.encode())
        target = target_of(str(tmp_path / "copies"), [f"{ROOT}/logs"])

        [problem] = write_copies([(bucket.file("logs/a.log"), target(f"{ROOT}/logs/a.log"))], FINDER)

        assert problem == ""
        assert (tmp_path / "copies/logs/a.log").read_bytes() == QUIET + str(PASSWORD).encode()

    @pytest.mark.parametrize("key", ["../../a", "a/../../../b", "/etc/passwd", "./../a", "..", "a//..//b"])
    def test_a_key_leads_out_of_no_folder(self, tmp_path: Path, key: str) -> None:
        target = target_of(str(tmp_path / "copies"), [ROOT, str(tmp_path / "logs")])

        assert target(f"{ROOT}/{key}").resolve().is_relative_to(tmp_path / "copies")

    def test_a_key_that_is_no_name_of_a_file_has_no_copy(self, bucket: Bucket, tmp_path: Path) -> None:
        bucket.put("a\0b", b"x")

        [problem] = write_copies([(bucket.file("a\0b"), tmp_path / "a\0b")], FINDER)

        assert problem == "Its copy cannot be written: ValueError."


def test_a_value_in_a_key_is_a_leak_and_so_is_one_in_a_given_path(bucket: Bucket) -> None:
    bucket.put("logs/of-c4nary-name/a.log", b"x")
    bucket.put("c4nary-name/a.log", b"x")
    finder = Sought([KnownSecret(PASSWORD, "c4nary-name")]).finder()
    given = [f"{ROOT}/logs", f"{ROOT}/c4nary-name"]

    found = RevealingPaths.of(FileListing.of(given), given, finder)

    assert [leak.file for leak in found.leaks] == [f"{ROOT}/{PASSWORD}", f"{ROOT}/logs/of-{PASSWORD}/a.log"]
