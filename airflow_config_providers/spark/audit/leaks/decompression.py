"""Decompresses the content of files: gzip, bzip2, zstd, and Spark's lz4 and snappy."""

from __future__ import annotations

import bz2
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

from airflow_config_providers.spark.audit.leaks.file_blocks import BLOCK
from airflow_config_providers.spark.audit.leaks.open_file import ContentError

_STEP: Final = 512
"""How many bytes of zstd are decompressed at a time. Four of them can be 128 KiB, so the content has at most 16 MiB."""

_LARGEST_FRAME: Final = 64 * 1024 * 1024
"""The most bytes of a compressed frame, and of its content. Those of Spark have at most 32 MiB."""

_ALWAYS: Final = 1_000_000_000
"""How many bytes of content are read, however small the file is."""

_MOST_TIMES: Final = 1_100
"""How many times as large as a file its content can be; gzip, which logs usually have, does not go further."""

_LARGE: Final = 2_000_000_000
"""Bytes of content, up to which ``_MOST_TIMES`` is the limit, and beyond which ``_LARGE_TIMES`` is."""

_LARGE_TIMES: Final = 100
"""How many times as large as its file large content can be: logs are rarely 100 times as large."""


def decompressed(compression: str, source: Iterator[bytes]) -> Iterator[bytes]:
    """
    Yield the content of a compressed file, whatever the blocks in which it was read.

    :raises ContentError: it is broken, or ends too early; what could be read has been yielded
    """
    read = _Counted(source)
    try:
        for content in _DECOMPRESSED[compression](read):
            read.allow(len(content))
            yield content
    except ContentError:
        raise
    except Exception as error:  # noqa: BLE001 - decompressors raise what they like; nothing of the content is shown
        problem = type(error).__name__
    else:
        return
    raise ContentError(f"Its {compression} content is broken ({problem}).")


def most_content(size: int) -> int:
    """Return how many bytes of content are read of a compressed file with ``size`` bytes."""
    return max(_ALWAYS, min(_MOST_TIMES * size, _LARGE + _LARGE_TIMES * size))


def require_proportion(content: int, size: int) -> None:
    """
    Check that a file with ``size`` bytes does not have an almost endless content.

    :raises ContentError: ``content`` is too much
    """
    if content > most_content(size):
        times = _MOST_TIMES if content <= _LARGE else _LARGE_TIMES
        raise ContentError(f"Its content is more than {times:,} times as large: only its beginning was read.")


class _Counted:
    """Counts the bytes of an iterator, and stops what a few bytes would make almost endless."""

    def __init__(self, source: Iterator[bytes]) -> None:
        self._source = source
        self._taken = self._given = 0

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        block = next(self._source)
        self._taken += len(block)
        return block

    def allow(self, size: int) -> None:
        """
        Count ``size`` bytes of content.

        :raises ContentError: there is too much content for the bytes that were taken
        """
        self._given += size
        require_proportion(self._given, self._taken)


class _Gzip:
    """One member of a gzip file."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=31)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the content of ``data``, in blocks of a limited size."""
        found = b" "
        while not self._inner.eof and (data or len(found) == BLOCK):
            yield (found := self._inner.decompress(data, BLOCK))
            data = self._inner.unconsumed_tail

    @property
    def rest(self) -> bytes | None:
        """What follows the member; None if it has not ended yet."""
        return self._inner.unused_data if self._inner.eof else None


class _Bzip2:
    """One stream of a bzip2 file."""

    def __init__(self) -> None:
        self._inner = bz2.BZ2Decompressor()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the content of ``data``, in blocks of a limited size."""
        yield self._inner.decompress(data, BLOCK)
        while not self._inner.needs_input and not self._inner.eof:
            yield self._inner.decompress(b"", BLOCK)

    @property
    def rest(self) -> bytes | None:
        """What follows the stream; None if it has not ended yet."""
        return self._inner.unused_data if self._inner.eof else None


class _Zstd:
    """One frame of a zstd file."""

    def __init__(self) -> None:
        import zstandard  # noqa: PLC0415 - only files that are compressed so need it

        self._inner = zstandard.ZstdDecompressor().decompressobj()
        self.rest: bytes | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the content of ``data``, in blocks of a limited size."""
        for place in range(0, len(data), _STEP):
            yield self._inner.decompress(data[place : place + _STEP])
            if self._inner.eof:
                self.rest = self._inner.unused_data + data[place + _STEP :]
                return


def _members(source: Iterator[bytes], make: Callable[[], _Gzip | _Bzip2 | _Zstd]) -> Iterator[bytes]:
    """Yield the content of compressed members, one after the other. Zeros after the last are padding."""
    member: _Gzip | _Bzip2 | _Zstd | None = None
    for block in source:
        rest: bytes | None = block
        while rest and (member or rest.strip(b"\0")):
            member = member or make()
            yield from member.feed(rest)
            rest = member.rest
            member = member if rest is None else None
    if member is not None:
        raise ContentError("Its compressed content ends too early.")


def _lz4(source: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the content of the blocks that lz4-java's ``LZ4BlockOutputStream`` writes, as in Spark's event logs."""
    reader = _Reader(source)
    while header := reader.exactly(21, may_end=True):
        if not header.startswith(b"LZ4Block"):
            raise ContentError("Its lz4 content is broken.")
        compressed, size = (int.from_bytes(header[at : at + 4], "little") for at in (9, 13))
        data = reader.exactly(_bounded(compressed))
        if size:
            yield data if header[8] & 0xF0 == 0x10 else _raw("lz4_raw", data, _bounded(size))


def _snappy(source: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the content of the blocks that snappy-java's ``SnappyOutputStream`` writes, as in Spark's event logs."""
    reader = _Reader(source)
    reader.exactly(16)
    while header := reader.exactly(4, may_end=True):
        if header == b"\x82SNA":  # another stream begins
            reader.exactly(12)
            continue
        data = reader.exactly(_bounded(int.from_bytes(header, "big")))
        yield _raw("snappy", data, _bounded(_varint(data)))


def _raw(codec: str, data: bytes, size: int) -> bytes:
    import pyarrow as pa  # noqa: PLC0415 - as above

    return bytes(pa.Codec(codec).decompress(data, decompressed_size=size, asbytes=True))


def _varint(data: bytes) -> int:
    size = 0
    for place, octet in enumerate(data[:5]):
        size |= (octet & 0x7F) << 7 * place
        if octet < 0x80:
            return size
    raise ContentError("Its snappy content is broken.")


def _bounded(size: int) -> int:
    if size > _LARGEST_FRAME:
        raise ContentError("It has a compressed block that is too large.")
    return size


class _Reader:
    """Reads an iterator of blocks."""

    def __init__(self, source: Iterator[bytes]) -> None:
        self._source = source
        self._kept = b""

    def exactly(self, size: int, *, may_end: bool = False) -> bytes:
        """Return ``size`` bytes; nothing at the end, if it ``may_end`` there."""
        parts, got = [self._kept], len(self._kept)
        while got < size and (more := next(self._source, b"")):
            parts.append(more)
            got += len(more)
        whole = b"".join(parts)
        data, self._kept = whole[:size], whole[size:]
        if len(data) < size and (data or not may_end):
            raise ContentError("Its compressed content ends too early.")
        return data


_DECOMPRESSED: Final[Mapping[str, Callable[[Iterator[bytes]], Iterator[bytes]]]] = {
    "gzip": partial(_members, make=_Gzip),
    "bzip2": partial(_members, make=_Bzip2),
    "zstd": partial(_members, make=_Zstd),
    "lz4": _lz4,
    "snappy": _snappy,
}
