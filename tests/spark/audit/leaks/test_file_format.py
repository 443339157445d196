"""The formats of files, also of those in a tar archive, whose values are not found if they are compressed."""

from __future__ import annotations

import bz2
import gzip
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.spark.audit.leaks.file_format import CompressedMembers, doubt
from airflow_config_providers.spark.audit.leaks.file_listing import FoundFile, Split, splits_of
from airflow_config_providers.spark.audit.leaks.leak_finder import KnownSecret
from airflow_config_providers.spark.audit.leaks.sought import Sought
from airflow_config_providers.spark.audit.leaks.split_search import search_all
from tests.spark.audit.leaks.searching import search


@pytest.mark.parametrize(
    ("name", "beginning", "expected"),
    [
        pytest.param("a.log", b"text", "", id="text"),
        pytest.param("a.gz", b"\x1f\x8b\x08", "", id="gzip"),
        pytest.param("a.gz", b"", "", id="empty"),
        pytest.param("a.gz", b"text", "It does not begin like gzip", id="not-gzip"),
        pytest.param("a.zip", b"PK\x03\x04", "Its format, zip, is not supported", id="zip"),
        pytest.param("a.log", b"\xfd7zXZ\x00", "Its format, xz, is not supported", id="xz"),
        pytest.param("a.parquet", b"PARE\x15\x04", "Its format, encrypted Parquet, is not supported", id="parquet"),
        pytest.param("a.log", b"PARENT", "", id="a-line-that-begins-like-encrypted-parquet"),
        pytest.param("a.snappy.orc", b"ORC\x11", "Its format, ORC, is not supported", id="orc"),
        pytest.param("a.log", b"ORC began", "", id="a-line-that-begins-like-orc"),
        pytest.param("a.avro", b"Obj\x01\x02", "Its format, Avro, is not supported", id="avro"),
        pytest.param("a.feather", b"ARROW1\x00\x00", "Its format, Arrow, is not supported", id="arrow"),
        pytest.param("a.7z", b"7z\xbc\xaf\x27\x1c\x00", "Its format, 7z, is not supported", id="7z"),
        pytest.param("a.lzma", b"\x5d\x00\x00\x80", "Its format, lzma, is not supported", id="lzma"),
        pytest.param("a.zst", b"\x50\x2a\x4d\x18\x04", "Its format, zstd after a skippable frame,", id="pzstd"),
    ],
)
def test_content_that_is_perhaps_not_read_is_reported(name: str, beginning: bytes, expected: str) -> None:
    assert doubt(name, beginning).startswith(expected)
    assert bool(doubt(name, beginning)) == bool(expected)


VALUE = "c4nary-Pa$$w0rd/of+the=audit"
FINDER = Sought([KnownSecret(ConfigVariable("vault", "apps/db", "password"), VALUE)]).finder()
NOTE = "It has compressed files in a tar archive: only their bytes as they are were searched. Unpack it to search them."
PLAIN = {"a.log": b"text\n" * 1000, "empty": b"", "b.log": VALUE.encode()}
INNER = gzip.compress(VALUE.encode())
LONG = "a/" * 150 + "c.log.gz"


def archive(files: Mapping[str, bytes], *, kind: int = tarfile.GNU_FORMAT) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=kind) as tar:
        for name, content in files.items():
            header = tarfile.TarInfo(name)
            header.size = len(content)
            tar.addfile(header, io.BytesIO(content))
    return target.getvalue()


def problems(path: Path, content: bytes, *, size: int = 1 << 30, block: int = 4096) -> list[str]:
    """Return the distinct notes about a file, which is searched in splits of ``size`` bytes."""
    path.write_bytes(content)
    splits = splits_of(FoundFile(str(path), len(content), 0), size=size)
    return list(dict.fromkeys(filter(None, (search(split, FINDER, block=block).problem for split in splits))))


@pytest.mark.parametrize("kind", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT])
@pytest.mark.parametrize("inner", [INNER, bz2.compress(b"text"), b"PK\x03\x04text"], ids=["gzip", "bzip2", "zip"])
def test_a_compressed_file_in_an_archive_is_noted(tmp_path: Path, kind: int, inner: bytes) -> None:
    assert problems(tmp_path / "a.tar", archive({**PLAIN, "c": inner}, kind=kind)) == [NOTE]


@pytest.mark.parametrize("kind", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_a_compressed_file_with_a_long_name_is_noted(tmp_path: Path, kind: int) -> None:
    assert problems(tmp_path / "a.tar", archive({**PLAIN, LONG: INNER}, kind=kind)) == [NOTE]


def test_a_compressed_file_in_a_compressed_archive_is_noted(tmp_path: Path) -> None:
    assert problems(tmp_path / "a.tgz", gzip.compress(archive({**PLAIN, "c.gz": INNER}))) == [NOTE]


def test_a_compressed_file_in_an_archive_in_an_archive_is_noted(tmp_path: Path) -> None:
    assert problems(tmp_path / "a.tar", archive({**PLAIN, "b.tar": archive({"c.gz": INNER})})) == [NOTE]


def test_an_archive_of_plain_files_has_no_note(tmp_path: Path) -> None:
    named = {**PLAIN, "BZh is only a name": b"", "BZh is another": b"text", "text": b"of the ustar\n" * 1000}

    assert problems(tmp_path / "a.tar", archive(named)) == []
    assert problems(tmp_path / "a.tgz", gzip.compress(archive(named))) == []


def test_text_with_the_mark_of_an_archive_has_no_note(tmp_path: Path) -> None:
    text = bytearray(b"x" * 512 + INNER + b"x" * 512)
    text[257:262] = b"ustar"

    assert problems(tmp_path / "a", bytes(text)) == []


@pytest.mark.parametrize("before", range(0, 4608, 512))
def test_splits_and_blocks_make_no_difference(tmp_path: Path, before: int) -> None:
    content = archive({"a.log": b"x" * before, "c.gz": INNER, "d.log": b"y" * 9_000})

    assert problems(tmp_path / "a.tar", content, size=4096 + 3, block=700) == [NOTE]


@pytest.mark.parametrize("size", [1, 7, 300, 512, 528, 529, 4096])
def test_a_compressed_file_is_seen_in_blocks_of_any_size(size: int) -> None:
    content, members = archive({"a.log": b"text", "c.gz": INNER}), CompressedMembers()

    assert any(members.are_in(content[place : place + size]) for place in range(0, len(content), size))


def test_a_small_archive_among_small_files_is_noted(tmp_path: Path) -> None:
    contents = {"a.log": b"text", "b.tar": archive({"a.log": b"text", "c.gz": gzip.compress(b"text")})}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    splits = [Split(FoundFile(str(tmp_path / name), len(content), 0)) for name, content in contents.items()]

    [found] = search_all(splits, FINDER, lambda octets: None)

    assert [one.problem for one in found] == ["", NOTE]
