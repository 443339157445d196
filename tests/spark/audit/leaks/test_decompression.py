"""Compressed content, whole or broken."""

from __future__ import annotations

import os

import pytest

pytest.importorskip("pyarrow")

from airflow_config_providers.spark.audit.leaks.decompression import decompressed, most_content
from airflow_config_providers.spark.audit.leaks.file_blocks import BLOCK
from airflow_config_providers.spark.audit.leaks.file_format import compression_of
from airflow_config_providers.spark.audit.leaks.open_file import ContentError
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
    data = COMPRESSED[name](bytes(16 * BLOCK))

    assert max(map(len, decompressed(name, pieces(data, 1 << 20)))) <= most


@pytest.mark.parametrize("name", ["lz4", "snappy"])
def test_a_block_that_claims_to_be_huge_is_refused(name: str) -> None:
    header = {
        "lz4": b"LZ4Block\x26" + b"\xff\xff\xff\x7f" * 2 + bytes(4),
        "snappy": b"\x82SNAPPY\x00" + bytes(8) + b"\x7f\xff\xff\xff",
    }[name]

    with pytest.raises(ContentError, match="too large"):
        list(decompressed(name, iter([header + bytes(1000)])))


def test_a_small_file_with_an_enormous_content_is_read_only_at_its_beginning() -> None:
    data = COMPRESSED["zstd"](bytes(16 * 1024 * 1024)) * 100
    read: list[int] = []

    with pytest.raises(ContentError, match="more than 1,100 times as large: only its beginning was read"):
        read.extend(map(len, decompressed("zstd", pieces(data, 65_536))))

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
