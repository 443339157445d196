"""The content of files as blocks of bytes, decompressed; what is compressed is recognized by its first bytes."""

from __future__ import annotations

import bz2
import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from airflow_config_providers.spark.audit.leaks.object_store import FAR_BLOCK, opened_object
from airflow_config_providers.spark.audit.leaks.open_file import ContentError, OpenFile, opened_file
from airflow_config_providers.spark.audit.leaks.stored_path import is_stored

BLOCK: Final = 4 * 1024 * 1024
"""How many bytes are read at a time."""

COMPRESSED_BLOCK: Final = 64 * 1024
"""How many bytes of a compressed file are read at a time: what follows a member is copied for the next one."""

_STEP: Final = 512
"""How many bytes of zstd are decompressed at a time. Four of them can be 128 KiB, so the content has at most 16 MiB."""

_LARGEST_FRAME: Final = 64 * 1024 * 1024
"""The most bytes of a compressed frame, and of its content. Those of Spark have at most 32 MiB."""

_ALWAYS: Final = 1_000_000_000
"""How many bytes of content are read, however small the file is."""

_MOST_TIMES: Final = 1_100
"""How many times as large as a file its content can be; gzip, which logs usually have, does not go further."""

_LARGE: Final = 2_000_000_000
_LARGE_TIMES: Final = 100
"""Logs are rarely 100 times as large as their file: beyond ``_LARGE`` bytes, content is read only up to that."""

LONGEST_MAGIC: Final = 16

_END: Final = 4096
"""How many bytes at the beginning of a file, and before its former end, must be the same, for it to have only grown."""

_MAGIC: Final = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"LZ4Block": "lz4",
    b"\x82SNAPPY\x00": "snappy",
}
_EXTENSIONS: Final = {
    ".gz": "gzip",
    ".gzip": "gzip",
    ".tgz": "gzip",
    ".bz2": "bzip2",
    ".zst": "zstd",
    ".zstd": "zstd",
    ".lz4": "lz4",
    ".snappy": "snappy",
}
_PARQUET: Final = b"PAR1"
_UNSUPPORTED: Final = {
    b"\xfd7zXZ\x00": "xz",
    b"\x5d\x00\x00": "lzma",
    b"PK\x03\x04": "zip",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"Rar!\x1a\x07": "rar",
    b"\x04\x22\x4d\x18": "lz4 frame",
    b"\xff\x06\x00\x00sNaPpY": "snappy frame",
    **{bytes((number, 0x2A, 0x4D, 0x18)): "zstd after a skippable frame" for number in range(0x50, 0x60)},
    b"ZV": "lzf",
    b"PARE": "encrypted Parquet",
    b"ORC": "ORC",
    b"Obj\x01": "Avro",
    b"ARROW1\x00\x00": "Arrow",
}
_WITH_SUFFIX: Final = {"lzf": ".lzf", "encrypted Parquet": ".parquet", "ORC": ".orc"}
"""Formats whose files are distinguished from text by their names."""


_MAGICS: Final = tuple(_MAGIC)
_UNSUPPORTED_MAGICS: Final = tuple(_UNSUPPORTED)
_SUFFIXES: Final = tuple(_EXTENSIONS)
"""The same for ``startswith`` and ``endswith``: there can be millions of files."""


def known_formats() -> list[str]:
    """Return how each compression is recognized, also of those that cannot be read."""
    tables = (_MAGIC, _EXTENSIONS, {_PARQUET: "Parquet"}, _UNSUPPORTED)
    return sorted(f"{mark!r} {name}" for table in tables for mark, name in table.items())


def compression_of(beginning: bytes) -> str:
    """Return the compression of a file that begins with ``beginning``; empty if it is not compressed."""
    if not beginning.startswith(_MAGICS):  # almost always, and fast
        return ""
    return next(name for magic, name in _MAGIC.items() if beginning.startswith(magic))


def is_parquet(beginning: bytes) -> bool:
    """Return whether a file that begins with ``beginning`` says that it is Parquet, whose texts are in columns."""
    return beginning.startswith(_PARQUET)


def is_encoded(beginning: bytes) -> bool:
    """Return whether content that begins so is in a format in which values do not appear as they are."""
    return bool(compression_of(beginning) or is_parquet(beginning) or doubt("", beginning))


def doubt(path: str, beginning: bytes) -> str:
    """Return why what is read from a file is perhaps not its content; empty if there is no doubt."""
    if not beginning or not (beginning.startswith(_UNSUPPORTED_MAGICS) or path.endswith(_SUFFIXES)):
        return ""  # almost always, and fast
    other = next((name for magic, name in _UNSUPPORTED.items() if beginning.startswith(magic)), "")
    if other and path.endswith(_WITH_SUFFIX.get(other, "")):
        return f"Its format, {other}, is not supported: only its bytes as they are were searched."
    expected = _EXTENSIONS.get(Path(path).suffix)
    if expected and compression_of(beginning) != expected:
        return f"It does not begin like {expected}: only its bytes as they are were searched."
    return ""


@contextmanager
def opened(path: str, size: int) -> Iterator[OpenFile]:
    """
    Open a file, or an object of a mounted store, and yield it.

    :param size: of an object, as it was listed
    :raises ContentError: it has vanished, cannot be read, or is not, or no longer, a regular file
    """
    if is_stored(path):
        yield opened_object(path, size)
    else:
        with opened_file(path) as source:
            yield source


def blocks(source: OpenFile, begin: int, end: int | None, *, size: int = BLOCK) -> Iterator[bytes]:
    """
    Yield the bytes of a file from ``begin`` to ``end``, or to its end.

    :raises ContentError: the file cannot be read, or ends before ``end``
    """
    if source.is_far:
        return _pieces(_ahead(_blocks(source, begin, end, FAR_BLOCK)), size)
    return _blocks(source, begin, end, size)


def _blocks(source: OpenFile, begin: int, end: int | None, size: int) -> Iterator[bytes]:
    at = begin
    while end is None or at < end:
        data = source.read(at, size if end is None else min(size, end - at))
        if not data:
            break
        at += len(data)
        yield data
    if end is not None and at < end:
        raise ContentError("It became shorter while it was read.")


def _ahead(content: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the blocks of ``content``, and read the next one meanwhile, so that nothing waits for the network."""
    with ThreadPoolExecutor(1) as thread:
        following = thread.submit(next, content, b"")
        while block := following.result():
            following = thread.submit(next, content, b"")
            yield block


def _pieces(content: Iterator[bytes], size: int) -> Iterator[bytes]:
    for block in content:
        for place in range(0, len(block), size):
            yield block[place : place + size]


def joined(content: Iterable[bytes], least: int) -> Iterator[bytes]:
    """Yield blocks of at least ``least`` bytes, because each is searched with a margin."""
    parts: list[bytes] = []
    size = 0
    for part in content:
        parts.append(part)
        size += len(part)
        if size >= least:
            yield b"".join(parts)
            parts, size = [], 0
    if parts:
        yield b"".join(parts)


def ends_hash(source: OpenFile, size: int) -> str:
    """Return a hash of both ends of the first ``size`` bytes of a file; empty if it is encoded, or shorter."""
    beginning = source.read(0, _END)
    if compression_of(beginning) or is_parquet(beginning):
        return ""
    if size <= _END:
        return hash_of_ends(beginning[:size]) if len(beginning) >= size else ""
    end = source.read(size - _END, _END)
    return _hash(beginning, end) if len(end) == _END else ""


def hash_of_ends(data: bytes) -> str:
    """Return what ``ends_hash`` does of a file that ``data`` is all of, and that is not encoded."""
    return _hash(data[:_END], data[-_END:])


def _hash(beginning: bytes, end: bytes) -> str:
    return hashlib.blake2b(beginning + end, digest_size=16).hexdigest()


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


def _gzip(source: Iterator[bytes]) -> Iterator[bytes]:
    return _members(source, _Gzip)


def _bzip2(source: Iterator[bytes]) -> Iterator[bytes]:
    return _members(source, _Bzip2)


def _zstd(source: Iterator[bytes]) -> Iterator[bytes]:
    return _members(source, _Zstd)


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
    "gzip": _gzip,
    "bzip2": _bzip2,
    "zstd": _zstd,
    "lz4": _lz4,
    "snappy": _snappy,
}
