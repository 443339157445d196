"""Copies of files, with references in place of the values."""

from __future__ import annotations

import bz2
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final

from airflow_config_providers.core.named_file import whole_file
from airflow_config_providers.core.reversal.stream import reverse_chunks
from airflow_config_providers.core.text import octets, printable
from airflow_config_providers.exceptions import ConfigException, system_reason
from airflow_config_providers.spark.audit.leaks.decompression import decompressed
from airflow_config_providers.spark.audit.leaks.file_blocks import BLOCK, COMPRESSED_BLOCK, blocks, joined, opened
from airflow_config_providers.spark.audit.leaks.file_format import (
    LONGEST_MAGIC,
    compression_of,
    doubt,
    is_encoded,
    is_tar,
)
from airflow_config_providers.spark.audit.leaks.file_listing import FoundFile, Split
from airflow_config_providers.spark.audit.leaks.leak import Found, FoundLeak
from airflow_config_providers.spark.audit.leaks.object_store import is_stored, real, split_root
from airflow_config_providers.spark.audit.leaks.open_file import ContentError, OpenFile, reason
from airflow_config_providers.spark.audit.leaks.sought import OccurrenceFinder, SoughtFinder
from airflow_config_providers.spark.audit.leaks.split_search import Search

_SUFFIXES: Final = {"lz4": ".lz4", "snappy": ".snappy"}
"""The compressions of Spark's event logs, which are not written: such a copy is not compressed, nor named so."""

_ODD: Final = {"": "%", ".": "%2E", "..": "%2E%2E"}
"""What names in the keys of objects become that mean something else in the file system."""


def target_of(folder: str, paths: Sequence[str]) -> Callable[[str], Path]:
    """
    Return a function that returns where the copy of a file goes: below ``folder``, as it is below what ``paths`` share.

    :raises ConfigException: the folder is not empty, is in one of ``paths``, or cannot be made
    """
    target = Path(os.path.realpath(folder))
    if any(target.is_relative_to(real(path)) for path in paths if not is_stored(path)):
        raise ConfigException(
            f"--reversed-copy {printable(folder)}: it is below a searched path, so the next audit would search the "
            f"copies. Name another folder."
        )
    try:
        _make_private(target)
        is_empty = next(target.iterdir(), None) is None
        problem = "" if is_empty else "it is not empty, and nothing in it is overwritten"
    except OSError as error:
        problem = system_reason(error)
    if problem:
        raise ConfigException(f"--reversed-copy {printable(folder)}: {problem}. Name another folder.")
    shared = os.path.commonpath([_root_of(real(path)) for path in paths])
    return lambda path: target / os.path.relpath(_place_of(path), shared)


def _make_private(folder: Path) -> None:
    """Make a folder, and what is missing around it, that only this user can enter: logs can be private, too."""
    if not folder.is_dir():
        for one in (*reversed(folder.parents), folder):
            one.mkdir(mode=0o700, exist_ok=True)


def _root_of(path: str) -> str:
    """Return the folder below which the copies of a given path are arranged: for an object, its whole bucket."""
    if is_stored(path):
        return _place_of(split_root(path)[0])
    return path if Path(path).is_dir() else str(Path(path).parent)


def _place_of(path: str) -> str:
    """Return ``path`` as one in the file system. The key of an object can have steps that lead anywhere."""
    if not is_stored(path):
        return path
    root, key = split_root(path)
    names = [_ODD.get(name, name) for name in key.split("/")] if key else []
    return "/".join(("", root.replace("://", "/"), *names))


def write_copies(copies: Iterable[tuple[FoundFile, Path]], finder: SoughtFinder) -> list[str]:
    """Write the copies of files to their targets, and return why each has none; empty if it was written."""
    with Search(finder, lambda octets: None) as search:
        return [_write_copy(file, target, finder, search=search) for file, target in copies]


def _write_copy(file: FoundFile, target: Path, finder: SoughtFinder, *, search: Search) -> str:
    """
    Write the copy of a file. Everything but the values is the same, byte for byte.

    Parquet and tar archives have one only if they are free of values, because references would need a new encoding of
    columns, and other sizes in the headers of archives. What could not be searched as a whole has none.

    :param search: for what ``finder`` finds
    :return: why there is no copy; empty if it was written
    """
    try:
        _make_private(target.parent)
        with opened(file.path, file.size) as source:
            compression = compression_of(source.read(0, LONGEST_MAGIC))
            plain = _plain(source, file.size, compression, finder)
            first = next(plain, b"")
            name = "" if compression else file.path  # the suffix is that of the compression
            if _is_more_than_bytes(name, first) and (problem := _problem(search(Split(file)), first)):
                return problem
            content = _compressed(compression, _reversed(chain([first], plain), finder))
            with whole_file(_without(target, file.path, compression), mode=0o600) as copy:
                copy.writelines(content)
    except ContentError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - whatever one file does, the others are copied
        return f"Its copy cannot be written: {reason(error)}."
    return ""


def _plain(source: OpenFile, size: int, compression: str, finder: OccurrenceFinder) -> Iterator[bytes]:
    """Return the content of a file that was listed with ``size`` bytes, decompressed."""
    if compression:
        return decompressed(compression, blocks(source, 0, None, size=COMPRESSED_BLOCK))
    return blocks(source, 0, _end(source, size, finder))


def _end(source: OpenFile, size: int, finder: OccurrenceFinder) -> int:
    """
    Return where the copy of a file ends that was listed with ``size`` bytes: not inside of a value.

    A log can be listed while a value is written to it, and half a value is not recognized.
    """
    first = max(0, size - finder.margin)
    around = source.read(first, size - first + finder.margin)
    return max((size, *(first + one.end for one in finder.find(around) if first + one.start < size)))


def _is_more_than_bytes(name: str, beginning: bytes) -> bool:
    """Return whether content is in a format that other bytes in the place of a value would break, or hide values."""
    return is_encoded(beginning) or is_tar(beginning) or bool(doubt(name, beginning))


def _problem(found: Found[FoundLeak], beginning: bytes) -> str:
    """Return why a file in such a format has no copy; empty if it can have one."""
    if found.problem or not found.leaks:
        return found.problem
    if is_tar(beginning):
        return "References have other lengths than values, which breaks a tar archive. Unpack it, and search its files."
    return "References cannot replace the values in Parquet."


def _reversed(content: Iterable[bytes], finder: SoughtFinder) -> Iterable[bytes]:
    return reverse_chunks(content, finder.reversers) if finder.reversers else replaced(joined(content, BLOCK), finder)


def replaced(content: Iterable[bytes], finder: OccurrenceFinder) -> Iterator[bytes]:
    """Yield ``content`` with references in place of what ``finder`` finds, whatever its blocks are."""
    data, done = b"", 0  # done: how many bytes of data were yielded, and are only context
    for block in chain(filter(None, content), [b""]):
        data += block
        end = max(done, len(data) - finder.margin) if block else len(data)
        pieces: list[bytes] = []
        for one in finder.find(data):
            if one.start < end and one.end > done:  # of one that overlaps with what was replaced, replace the rest
                pieces += data[done : one.start], octets(one.reference)
                done = one.end
        pieces.append(data[done:end])
        yield b"".join(pieces)
        done = max(done, end)
        kept = max(0, done - finder.margin)
        data, done = data[kept:], done - kept


def _without(target: Path, path: str, compression: str) -> Path:
    """Return where the copy of ``path`` goes, without the suffix of a compression that is not written."""
    suffix = _SUFFIXES.get(compression, "")
    if not suffix or not path.endswith(suffix) or target.name == suffix:
        return target
    if is_stored(path) or os.path.lexists(path.removesuffix(suffix)):  # perhaps that one has a copy of its own
        return target.with_name(f"{target.name}.decompressed")
    return target.with_name(target.name.removesuffix(suffix))


def _compressed(compression: str, content: Iterable[bytes]) -> Iterator[bytes]:
    make = _COMPRESSORS.get(compression)
    if make is None:
        yield from content
        return
    compressor = make()
    for block in content:
        yield compressor.compress(block)
    yield compressor.flush()


def _zstd() -> Any:
    import zstandard  # noqa: PLC0415 - only files that are compressed so need it

    return zstandard.ZstdCompressor().compressobj()


_COMPRESSORS: Final[Mapping[str, Callable[[], Any]]] = {
    "gzip": lambda: zlib.compressobj(wbits=31),
    "bzip2": bz2.BZ2Compressor,
    "zstd": _zstd,
}
