"""The format of a file, and of those in a tar archive that is not unpacked, recognized by the first bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Final

LONGEST_MAGIC: Final = 16
"""How many bytes at the beginning of a file show its format."""

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
"""The keys of these tables for ``startswith`` and ``endswith``: there can be millions of files."""

HEADER: Final = 512
"""Bytes of the header of each file in an archive; headers and contents begin at multiples of it."""

CONTEXT: Final = HEADER + LONGEST_MAGIC
"""How many bytes must be seen at once: a header, and what shows the format of the file after it."""

_MARK: Final = b"ustar"
_PLACE_OF_MARK: Final = 257
"""The offset of ``_MARK`` in a header."""
_SIZE: Final = slice(124, 136)
_SUM: Final = slice(148, 156)
_KIND: Final = slice(156, 157)
_FILES: Final = (b"0", b"\0", b"7")


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


def is_tar(beginning: bytes) -> bool:
    """Return whether content with this beginning, of at least ``HEADER`` bytes, is a tar archive."""
    return beginning.startswith(_MARK, _PLACE_OF_MARK) and _has_sum(beginning[:HEADER])


class CompressedMembers:
    """
    Recognizes compressed files in a tar archive, in whatever blocks it is read. It reads nothing twice.

    Headers are found by their mark, so it can begin anywhere in an archive.

    :param before: what precedes the first block, up to ``CONTEXT`` bytes
    :param at: the offset of ``before``, or of the first block
    """

    def __init__(self, before: bytes = b"", *, at: int = 0) -> None:
        self._kept = before
        self._at = at

    def are_in(self, block: bytes) -> bool:
        """Return whether one begins in ``block``, or so near the end of the one before that it was not yet seen."""
        data = self._kept + block
        found = self._begin_in(data)
        keep = max(0, len(data) - CONTEXT)
        self._kept, self._at = data[keep:], self._at + keep
        return found

    def _begin_in(self, data: bytes) -> bool:
        place = data.find(_MARK)
        while place >= 0:
            start = place - _PLACE_OF_MARK
            if start >= 0 and (self._at + start) % HEADER == 0 and _is_compressed(data[start : start + CONTEXT]):
                return True
            place = data.find(_MARK, place + 1)
        return False


def _is_compressed(member: bytes) -> bool:
    """Return whether a header with the beginning of a file is that of a compressed one."""
    header, beginning = member[:HEADER], member[HEADER:]
    if not is_encoded(beginning):  # almost always, and fast
        return False
    return header[_KIND] in _FILES and bool(header[_SIZE].strip(b" 0\0")) and _has_sum(header)


def _has_sum(header: bytes) -> bool:
    """Return whether the sum in a header is that of its bytes; text that has the mark by chance has none."""
    try:
        stated = int(header[_SUM].strip(b" \0"), 8)
    except ValueError:
        return False
    return stated == sum(header) - sum(header[_SUM]) + len(header[_SUM]) * ord(" ")
