"""The bytes of files, in blocks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final

from airflow_config_providers.spark.audit.batches import batches
from airflow_config_providers.spark.audit.leaks.file_format import compression_of, is_parquet
from airflow_config_providers.spark.audit.leaks.object_store import FAR_BLOCK, is_stored, opened_object
from airflow_config_providers.spark.audit.leaks.open_file import ContentError, OpenFile, opened_file

BLOCK: Final = 4 * 1024 * 1024
"""How many bytes are read at a time."""

COMPRESSED_BLOCK: Final = 64 * 1024
"""How many bytes of a compressed file are read at a time: what follows a member is copied for the next one."""

_END: Final = 4096
"""How many bytes at the beginning of a file, and before its former end, must be the same, for it to have only grown."""


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
    return map(b"".join, batches(content, len, least=least))


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
    """Return the result of ``ends_hash`` for a file that is not encoded, and whose whole content is ``data``."""
    return _hash(data[:_END], data[-_END:])


def _hash(beginning: bytes, end: bytes) -> str:
    return hashlib.blake2b(beginning + end, digest_size=16).hexdigest()
