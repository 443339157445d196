"""Searches many splits of files in the file system: small files together, because most of them have nothing."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from itertools import accumulate
from operator import attrgetter
from typing import Final

from airflow_config_providers.spark.audit.batches import packed
from airflow_config_providers.spark.audit.leaks.content import hash_of_ends
from airflow_config_providers.spark.audit.leaks.file_format import (
    LONGEST_MAGIC,
    compression_of,
    doubt,
    is_parquet,
    is_tar,
)
from airflow_config_providers.spark.audit.leaks.files import Split
from airflow_config_providers.spark.audit.leaks.open_file import LoadedFile, OpenFolder
from airflow_config_providers.spark.audit.leaks.sought import OccurrenceFinder
from airflow_config_providers.spark.audit.leaks.split_leaks import Found, FoundLeak
from airflow_config_providers.spark.audit.leaks.split_search import OctetsRead, Opened, Search

_TOGETHER: Final = 64 * 1024
"""How many bytes of small files are searched together: the hits of so many are few."""

_MOST: Final = 64
"""The most files that are searched together, because each can have grown by ``_MORE``."""

_MORE: Final = 4096
"""How many bytes beyond the listed size are read, to see whether the file ends there."""


def search_all(
    splits: Iterable[Split], finder: OccurrenceFinder, tick: OctetsRead
) -> Iterator[Sequence[Found[FoundLeak]]]:
    """Yield the results of some splits at a time, in order; each is that of ``Search``."""
    with closing(OpenFolder()) as folder, Search(finder, tick) as search:
        for some in packed(splits, attrgetter("file.size"), most=_TOGETHER, count=_MOST):
            contents = [_content(split, folder) for split in some]
            yield _searched(some, contents, search, folder)


def _content(split: Split, folder: OpenFolder) -> bytes | None:
    """Return the content of a small file; None if it is not read as a whole here, such as if it has become shorter."""
    size = split.file.size
    if size > _TOGETHER or split.end is not None:
        return None
    content = folder.beginning(split.file.path, size + _MORE)
    return content if content is not None and size <= len(content) < size + _MORE else None


def _searched(
    splits: Sequence[Split], contents: Sequence[bytes | None], search: Search, folder: OpenFolder
) -> Sequence[Found[FoundLeak]]:
    found = list[Found[FoundLeak]]()
    have_clue = _with_clue([content or b"" for content in contents], search.finder)
    quiet = 0
    for place, (split, content) in enumerate(zip(splits, contents, strict=True)):
        if content is None:
            found.append(search(split, lambda path, _: folder.opened(path)))
        elif place in have_clue or compression_of(content) or is_parquet(content) or is_tar(content):
            found.append(search(split, _loaded(content)))
        else:
            found.append(_without_occurrence(split, content))
            quiet += len(content)
    search.tick(quiet)
    return found


def _loaded(content: bytes) -> Opened:
    return lambda _, __: nullcontext(LoadedFile(content))


def _with_clue(contents: Sequence[bytes], finder: OccurrenceFinder) -> set[int]:
    """Return the places of those of ``contents`` in which something can be found."""
    ends = list(accumulate(map(len, contents)))
    found = set[int]()
    for start, end in finder.clues(b"".join(contents)):
        place = bisect_right(ends, start)
        if end <= ends[place]:
            found.add(place)
    return found


def _without_occurrence(split: Split, content: bytes) -> Found[FoundLeak]:
    """Return the result for a file in which nothing is found. What it has beyond its listed size is only context."""
    path, size = split.file.path, split.file.size
    problem = doubt(path, content[:LONGEST_MAGIC])
    return Found((), size, content.count(b"\n", 0, size), problem, hash_of_ends(content[:size]))
