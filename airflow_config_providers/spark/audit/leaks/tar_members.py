"""Compressed files in a tar archive, recognized without unpacking it."""

from __future__ import annotations

from typing import Final

from airflow_config_providers.spark.audit.leaks.file_format import LONGEST_MAGIC, is_encoded

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
