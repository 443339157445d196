"""The content of a value in a database: its text or its bytes, decompressed if zlib has compressed them."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from airflow_config_providers.core.text import octets

LARGEST_VALUE: Final = 256 * 1024 * 1024
"""The most bytes of a compressed value that are searched."""

_STEP: Final = 4096
"""How many compressed bytes are decompressed at a time."""

_USUAL: Final = b"x"
"""The first byte of zlib's output with the default window size."""

_HAS_DICTIONARY: Final = 0x20
"""The bit of the second byte that says that a preset dictionary is needed."""

_TOO_LARGE: Final = f"Of its decompressed content, only the first {LARGEST_VALUE:,} bytes were searched."
_DAMAGED: Final = (
    "Its compressed content is damaged, or ends too early. What could be decompressed was searched, and so were all "
    "bytes as they are."
)


@dataclass(frozen=True, slots=True)
class Cell:
    """
    The content of one column of a row.

    :param problem: why not all of it is here; empty if all is
    """

    content: bytes
    problem: str = ""


def cell_of(value: Any) -> Cell:
    """Return the text of a value in UTF-8, or its bytes: decompressed, if zlib has compressed them."""
    if value is None or isinstance(value, str):
        return Cell(octets(value or ""))
    data = bytes(value)
    return _decompressed(data) if _is_compressed(data) else Cell(data)


def _is_compressed(data: bytes) -> bool:
    """Return whether ``data`` begins like zlib's output; with a preset dictionary, it could not be decompressed."""
    try:
        zlib.decompressobj().decompress(data[:2])
    except zlib.error:
        return False
    return len(data) > 1 and not data[1] & _HAS_DICTIONARY


def _decompressed(data: bytes) -> Cell:
    """
    Return the decompressed content of ``data``.

    What follows the compressed bytes is added as it is; if they are damaged or end too early, all of ``data`` is. Then
    text in UTF-8, and what has no content and an unusual beginning, only looks compressed: no problem is named.
    """
    content, rest, problem = bytearray(), data, "" if _is_text(data) else _DAMAGED
    for piece, after in _inflated(data):
        content += piece
        if after is not None:
            rest, problem = after, ""
        if len(content) > LARGEST_VALUE:
            return Cell(bytes(content[:LARGEST_VALUE]), _TOO_LARGE)
    if rest is data and content in data:  # as it is if nothing was compressed, or only stored
        return Cell(data, problem if content or data.startswith(_USUAL) else "")
    return Cell(b"\0".join((bytes(content), rest)) if rest else bytes(content), problem)


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _inflated(data: bytes) -> Iterator[tuple[bytes, bytes | None]]:
    """Yield the pieces of the content of ``data``, up to damage; the last has what follows the compressed bytes."""
    inflater = zlib.decompressobj()
    for place in range(0, len(data), _STEP):
        before, some = inflater.copy(), data[place : place + _STEP]
        try:
            piece = inflater.decompress(some)
        except zlib.error:
            yield _until_damage(before, some), None
            return
        yield piece, inflater.unused_data + data[place + _STEP :] if inflater.eof else None
        if inflater.eof:
            return


def _until_damage(inflater: Any, data: bytes) -> bytes:
    """Return the content of ``data`` before it is damaged: an error takes along all that its call has decompressed."""
    content = bytearray()
    with suppress(zlib.error):
        for octet in data:
            content += inflater.decompress(bytes((octet,)))
    return bytes(content)
