"""Paths that show a value by themselves, such as the log of a DAG that is named after a password."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from airflow_config_providers.core.reversal.reverse import reverse_text
from airflow_config_providers.spark.audit.files import FileListing, FoundFile
from airflow_config_providers.spark.audit.leak import Leak, moment
from airflow_config_providers.spark.audit.leak_finder import LeakFinder


@dataclass(frozen=True, slots=True)
class TellingPaths:
    """
    The paths that show a value.

    :param shown: path -> the path with references instead of values
    :param leaks: a leak for each value in the path of a file; its line is 0
    """

    shown: Mapping[str, str] = field(default_factory=dict, repr=False)
    leaks: Collection[Leak] = ()

    @classmethod
    def of(cls, listing: FileListing, finder: LeakFinder) -> TellingPaths:
        """Return those of ``listing``."""
        paths = [*(file.path for file in listing.files), *listing.skipped, *listing.unread]
        if not any(finder.find(b"\0".join(map(os.fsencode, paths)))):  # all at once, because that is fast
            return cls()
        shown = {path: reverse_text(path, finder.reversers) for path in paths if any(finder.find(os.fsencode(path)))}
        leaks = [
            leak for file in listing.files if file.path in shown for leak in _leaks(file, shown[file.path], finder)
        ]
        return cls(shown, leaks)

    def show(self, path: str) -> str:
        """Return ``path`` as people may see it."""
        return self.shown.get(path, path)

    def others(self, files: Iterable[FoundFile]) -> list[FoundFile]:
        """Return the files whose paths show nothing."""
        return [file for file in files if file.path not in self.shown]


def _leaks(file: FoundFile, shown: str, finder: LeakFinder) -> Iterator[Leak]:
    for one in finder.find(os.fsencode(file.path)):
        age = "current" if one.is_current else "earlier"
        yield Leak(shown, one.start, 0, one.reference, f"{one.encoding}, in the path", age, moment(file.modified))
