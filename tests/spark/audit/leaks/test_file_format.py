"""The formats of files."""

from __future__ import annotations

import pytest

from airflow_config_providers.spark.audit.leaks.file_format import doubt


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
