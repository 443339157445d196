"""Paths that show a value by themselves, such as the log of a DAG that is named after a password."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from airflow_config_providers.spark.audit.leaks.files import FileListing, FoundFile
from airflow_config_providers.spark.audit.leaks.leak import Leak, iso_moment
from airflow_config_providers.spark.audit.leaks.leak_finder import Occurrence, referring
from airflow_config_providers.spark.audit.leaks.object_store import real
from airflow_config_providers.spark.audit.leaks.sought import OccurrenceFinder


@dataclass(frozen=True, slots=True)
class RevealingPaths:
    """
    The paths that show a value.

    A value that a given path begins with is none: it is a folder, and not a secret.

    :param shown: path -> the path with references instead of values
    :param leaks: a leak for each value in the path of a file, below the given one, and for each in a given path; its
        line is 0
    """

    shown: Mapping[str, str] = field(default_factory=dict, repr=False)
    leaks: Collection[Leak] = ()

    @classmethod
    def of(cls, listing: FileListing, given: Iterable[str], finder: OccurrenceFinder) -> RevealingPaths:
        """
        Return those of ``listing``.

        :param given: the paths that were listed
        """
        roots = sorted({os.fsencode(real(path)) for path in given})
        paths = [*map(os.fsdecode, roots), *(file.path for file in listing.files), *listing.skipped, *listing.unread]
        if not any(finder.find(b"\0".join(map(os.fsencode, paths)))):  # all at once, because that is fast
            return cls()
        found = {path: occurrences for path in paths if (occurrences := _telling(os.fsencode(path), roots, finder))}
        shown = {path: _shown(os.fsencode(path), occurrences) for path, occurrences in found.items()}
        modified = {file.path: iso_moment(file.modified) for file in listing.files if file.path in found}
        leaks = list[Leak]()
        for path, occurrences in found.items():
            name = os.fsencode(path)
            begin = 0 if name in roots else _length_of_root(name, roots)
            leaks += _leaks(shown[path], [one for one in occurrences if one.end > begin], modified.get(path, ""))
        return cls(shown, leaks)

    def show(self, path: str) -> str:
        """Return ``path`` as people may see it."""
        return self.shown.get(path, path)

    def others(self, files: Iterable[FoundFile]) -> list[FoundFile]:
        """Return the files whose paths show nothing."""
        return [file for file in files if file.path not in self.shown]


def _telling(path: bytes, roots: Iterable[bytes], finder: OccurrenceFinder) -> Sequence[Occurrence]:
    """Return the values in ``path``, but not the folder that it begins with."""
    return [one for one in finder.find(path) if one.start > 0 or one.end > _length_of_root(path, roots)]


def _shown(path: bytes, occurrences: Iterable[Occurrence]) -> str:
    return os.fsdecode(referring(path, occurrences))


def _length_of_root(path: bytes, roots: Iterable[bytes]) -> int:
    return max((len(root) for root in roots if path == root or path.startswith(root.rstrip(b"/") + b"/")), default=0)


def _leaks(shown: str, occurrences: Iterable[Occurrence], modified: str) -> Iterator[Leak]:
    for one in occurrences:
        yield Leak.of(replace(one, encoding=f"{one.encoding}, in the path"), shown, line=0, modified=modified)
