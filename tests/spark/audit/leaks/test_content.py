"""The content of files, compressed or not, whole or broken."""

from __future__ import annotations

import bz2
import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

from airflow_config_providers.spark.audit.leaks.content import (
    BLOCK,
    blocks,
    compression_of,
    decompressed,
    doubt,
    ends_hash,
    hash_of_ends,
    most_content,
)
from airflow_config_providers.spark.audit.leaks.open_file import ContentError, LoadedFile, opened_file
from tests.spark.audit.leaks.compressing import COMPRESSED

CONTENT = b"".join(b"2026-11-25 line %d of a log\n" % number for number in range(20_000))


def pieces(data: bytes, size: int):
    return (data[place : place + size] for place in range(0, len(data), size))


@pytest.mark.parametrize("size", [1_000, 65_536, 1 << 30])
@pytest.mark.parametrize("name", COMPRESSED)
def test_what_was_compressed_is_read_as_it_was(name: str, size: int) -> None:
    data = COMPRESSED[name](CONTENT)

    assert b"".join(decompressed(compression_of(data), pieces(data, size))) == CONTENT


@pytest.mark.parametrize("name", ["gzip", "bzip2", "lz4", "snappy", "zstd"])
def test_a_truncated_file_is_read_as_far_as_it_goes(name: str) -> None:
    noise = os.urandom(400_000)  # so that it has several blocks
    data = COMPRESSED[name](noise + CONTENT)[:-40]
    found = []

    with pytest.raises(ContentError, match=r"^Its .* content (is broken|ends too early)"):
        found.extend(decompressed(compression_of(data), pieces(data, 1_000)))

    assert (noise + CONTENT).startswith(b"".join(found))
    assert name == "bzip2" or found


@pytest.mark.parametrize("name", COMPRESSED)
def test_a_broken_file_is_an_error_without_its_content(name: str) -> None:
    data = bytearray(COMPRESSED[name](CONTENT))
    data[20:60] = os.urandom(40)

    problem, read = _read(bytes(data))

    assert "line" not in str(problem)
    assert problem is None or (problem.__cause__, problem.__context__) == (None, None)
    assert read != CONTENT  # formats without a checksum can yield something else


def _read(data: bytes) -> tuple[ContentError | None, bytes]:
    found: list[bytes] = []
    try:
        found.extend(decompressed(compression_of(data), pieces(data, 1_000)))
    except ContentError as error:
        return error, b"".join(found)
    return None, b"".join(found)


@pytest.mark.parametrize(("name", "most"), [("gzip", BLOCK), ("bzip2", BLOCK), ("zstd", 4 * BLOCK)])
def test_a_bomb_is_read_in_small_blocks(name: str, most: int) -> None:
    data = COMPRESSED[name](bytes(64 * BLOCK))

    assert max(map(len, decompressed(name, pieces(data, 1 << 20)))) <= most


@pytest.mark.parametrize("name", ["lz4", "snappy"])
def test_a_block_that_claims_to_be_huge_is_refused(name: str) -> None:
    header = {
        "lz4": b"LZ4Block\x26" + b"\xff\xff\xff\x7f" * 2 + bytes(4),
        "snappy": b"\x82SNAPPY\x00" + bytes(8) + b"\x7f\xff\xff\xff",
    }[name]

    with pytest.raises(ContentError, match="too large"):
        list(decompressed(name, iter([header + bytes(1000)])))


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


def test_a_pipe_is_not_opened(tmp_path: Path) -> None:
    """Opening it would wait for a writer."""
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(ContentError, match="no regular file"), opened_file(str(tmp_path / "pipe")):
        pass


def test_a_link_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/passwd")

    with pytest.raises(ContentError, match="cannot be opened"), opened_file(str(tmp_path / "link")):
        pass


def test_a_file_that_becomes_shorter_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")

    with opened_file(str(tmp_path / "a")) as source, pytest.raises(ContentError, match="shorter"):
        list(blocks(source, 0, 10))


@pytest.mark.parametrize("size", [0, 1, 4_095, 4_096, 4_097, 8_192, 9_000])
def test_the_hash_of_both_ends_is_that_of_a_file_that_has_only_grown(size: int) -> None:
    content = os.urandom(size)

    assert ends_hash(LoadedFile(content + b"more"), size) == ends_hash(LoadedFile(content), size)
    assert ends_hash(LoadedFile(content), size) == hash_of_ends(content)


@pytest.mark.parametrize("place", [0, 4_095, 5_000, 8_999], ids=["first", "beginning", "end", "last"])
def test_another_beginning_or_end_has_another_hash(place: int) -> None:
    content = b"a" * place + b"b" + b"a" * (8_999 - place)

    assert ends_hash(LoadedFile(content + b"more"), 9_000) != ends_hash(LoadedFile(b"a" * 9_000), 9_000)


def test_what_has_become_shorter_or_is_compressed_has_no_hash_of_its_ends() -> None:
    assert ends_hash(LoadedFile(b"a" * 8_999), 9_000) == ""
    assert ends_hash(LoadedFile(b"a" * 3), 4) == ""
    assert ends_hash(LoadedFile(gzip.compress(b"a")), 1) == ""


def test_a_folder_that_became_a_link_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a.log").write_text("x")
    (tmp_path / "logs").symlink_to(tmp_path / "elsewhere")

    with (
        pytest.raises(ContentError, match="It cannot be opened"),
        opened_file(str(tmp_path.resolve() / "logs" / "a.log")),
    ):
        pass


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/etc/passwd")], ids=["pipe", "link"])
def test_a_file_that_became_something_else_is_not_opened(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "a.log")

    with pytest.raises(ContentError), opened_file(str(tmp_path.resolve() / "a.log")):
        pass


def test_a_small_file_with_an_enormous_content_is_read_only_at_its_beginning() -> None:
    data = bz2.compress(bytes(16 * 1024 * 1024)) * 100
    read: list[int] = []

    with pytest.raises(ContentError, match="more than 1,100 times as large: only its beginning was read"):
        read.extend(map(len, decompressed("bzip2", pieces(data, 65_536))))

    assert 1 << 29 < sum(read) <= 1 << 30


@pytest.mark.parametrize(
    ("size", "most"),
    [
        pytest.param(100, 1_000_000_000, id="small"),
        pytest.param(1_000_000, 1_100_000_000, id="as-far-as-gzip-goes"),
        pytest.param(10_000_000, 3_000_000_000, id="bomb"),
        pytest.param(1_000_000_000, 102_000_000_000, id="large"),
    ],
)
def test_the_work_for_a_compressed_file_is_bounded(size: int, most: int) -> None:
    assert most_content(size) == most
