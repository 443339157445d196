"""The result of a search for leaks, and the paths that show a value by themselves."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from airflow_config_providers.core.text import how_many
from airflow_config_providers.spark.audit.leaks.baseline import Baseline
from airflow_config_providers.spark.audit.leaks.database_search import SearchedRows
from airflow_config_providers.spark.audit.leaks.file_listing import FileListing, FoundFile
from airflow_config_providers.spark.audit.leaks.leak import Leak, iso_moment
from airflow_config_providers.spark.audit.leaks.leak_finder import Occurrence, referring
from airflow_config_providers.spark.audit.leaks.object_store import real
from airflow_config_providers.spark.audit.leaks.seen_files import SearchedFile, SeenFiles
from airflow_config_providers.spark.audit.leaks.sought import OccurrenceFinder, Sought

_OTHER_VALUE: Final = "The baseline has the id of {}, but accepts another value there."
_INCOMPARABLE: Final = (
    "The baseline has the id of {}, but the values cannot be compared: its fingerprints were made with another "
    "[config_providers] password_encoder_secret, or that is not set here. Set it, or accept the leaks again."
)

_ANY_VALUE: Final = (
    "The baseline has no fingerprint for {} that it leaves out, so it accepts any value there. Write it again with "
    "[config_providers] password_encoder_secret set."
)


@dataclass(slots=True)
class LeakReport:
    """
    The result of an audit.

    :param leaks: all leaks, by file and line
    :param unread: path -> why it, or a part of it, could not be read
    :param uncopied: path -> why it has no reversed copy
    :param unresolved: why references have no value, and so were not searched for
    :param skipped: path -> why it was not read: links, pipes, sockets, devices
    :param files: how many files were searched
    :param octets: how many bytes were searched
    :param unsearched: how many files or folders could not be read, not even in part
    :param read: how many of the files were read by this audit, and not by an earlier one
    :param accepted: how many leaks are left out, because a baseline accepts them
    :param sought: what was searched for
    :param rows: how many rows of Airflow's database were searched
    :param notes: what else people should know, in sentences
    """

    leaks: list[Leak] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)
    uncopied: dict[str, str] = field(default_factory=dict)
    unresolved: Sequence[str] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)
    files: int = 0
    octets: int = 0
    unsearched: int = 0
    read: int = 0
    accepted: int = 0
    sought: Sought = field(default=Sought(), repr=False)
    rows: int = 0
    notes: Sequence[str] = ()

    @property
    def is_complete(self) -> bool:
        """Whether all files could be read, and copied if that was asked for, and every reference has a value."""
        return not self.unread and not self.uncopied and not self.unresolved

    def accept(self, baseline: Baseline) -> None:
        """Leave out the leaks that a baseline accepts, and note why it does not accept others in the same places."""
        any_value = sum(map(baseline.accepts_any, self.leaks))
        fresh = [leak for leak in self.leaks if not baseline.accepts(leak)]
        self.accepted += len(self.leaks) - len(fresh)
        self.leaks = fresh
        counts = {
            _OTHER_VALUE: sum(map(baseline.has_other_value, fresh)),
            _INCOMPARABLE: sum(map(baseline.is_incomparable, fresh)),
            _ANY_VALUE: any_value,
        }
        self.notes = [*self.notes, *(note.format(how_many(count, "leak")) for note, count in counts.items() if count)]

    def add_all(
        self, some: Sequence[SearchedFile], seen: SeenFiles | None, *, hidden: Collection[str] = frozenset()
    ) -> None:
        """Add what was found in files that were read now, and let ``seen`` keep it, but not of ``hidden`` paths."""
        for one in some:
            self.add(one)
        self.read += sum(not one.found.is_unread for one in some)
        if seen:
            seen.keep([one for one in some if one.file.path not in hidden])

    def show(self, revealing: RevealingPaths) -> None:
        """Replace the values in paths, and add them as leaks."""
        self.leaks = [replace(leak, file=revealing.show(leak.file)) for leak in self.leaks] + list(revealing.leaks)
        self.unread = {revealing.show(path): reason for path, reason in self.unread.items()}
        self.uncopied = {revealing.show(path): reason for path, reason in self.uncopied.items()}
        self.skipped = {revealing.show(path): reason for path, reason in self.skipped.items()}

    def add_tables(self, found: SearchedRows) -> None:
        """Add what was found in a database."""
        self.leaks += found.leaks
        self.rows += found.rows
        self.octets += found.octets
        self.unread |= found.unread
        self.notes = [*self.notes, *([found.note] if found.note else [])]

    def add(self, one: SearchedFile) -> None:
        """Add what was found in a file."""
        self.leaks += one.found.leaks
        self.files += not one.found.is_unread
        self.unsearched += one.found.is_unread
        self.octets += one.found.octets
        if one.found.problem:
            self.unread[one.file.path] = one.found.problem


@dataclass(frozen=True, slots=True)
class RevealingPaths:
    """
    The paths that show a value, such as the log of a DAG that is named after a password.

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
