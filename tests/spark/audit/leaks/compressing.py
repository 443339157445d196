"""Compresses as Spark and common tools do."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa

_END_OF_LZ4 = b"LZ4Block" + bytes([0x16]) + bytes(12)


def zstd(content: bytes) -> bytes:
    return pa.Codec("zstd").compress(content, asbytes=True)


def lz4(*blocks: bytes) -> bytes:
    """Return what lz4-java's ``LZ4BlockOutputStream`` writes for these blocks; the second is stored as it is."""
    found = []
    for place, block in enumerate(blocks):
        data = block if place == 1 else pa.Codec("lz4_raw").compress(block, asbytes=True)
        sizes = len(data).to_bytes(4, "little") + len(block).to_bytes(4, "little")
        found.append(b"LZ4Block" + bytes([0x16 if place == 1 else 0x26]) + sizes + bytes(4) + data)
    return b"".join((*found, _END_OF_LZ4))


def snappy(*blocks: bytes) -> bytes:
    """Return what snappy-java's ``SnappyOutputStream`` writes for these blocks."""
    found = [pa.Codec("snappy").compress(block, asbytes=True) for block in blocks]
    return b"\x82SNAPPY\x00" + (1).to_bytes(4, "big") * 2 + b"".join(len(b).to_bytes(4, "big") + b for b in found)


def cut(content: bytes, parts: int) -> Sequence[bytes]:
    size = len(content) // parts + 1
    return [content[place : place + size] for place in range(0, len(content), size)]


COMPRESSED: Mapping[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "gzip-members": lambda content: b"".join(map(gzip.compress, cut(content, 3))),
    "gzip-padded": lambda content: gzip.compress(content) + bytes(512),
    "bzip2": bz2.compress,
    "bzip2-streams": lambda content: b"".join(map(bz2.compress, cut(content, 3))),
    "zstd": zstd,
    "zstd-frames": lambda content: b"".join(map(zstd, cut(content, 3))),
    "lz4": lambda content: lz4(*cut(content, 3)),
    "snappy": lambda content: snappy(*cut(content, 3)),
    "snappy-streams": lambda content: b"".join(map(snappy, cut(content, 2))),
}
"""Name -> a function that compresses."""
