"""The result of a search for leaks, as it differs from a baseline, and the paths that show a value by themselves."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from airflow_config_providers.core.named_file import lines_of
from airflow_config_providers.core.text import how_many, printable
from airflow_config_providers.exceptions import ConfigException, refuse, system_reason
from airflow_config_providers.spark.audit.leaks.database_search import SearchedRows
from airflow_config_providers.spark.audit.leaks.file_listing import FileListing, FoundFile
from airflow_config_providers.spark.audit.leaks.fingerprint import FOUND_DIGITS, KEY_DIGITS
from airflow_config_providers.spark.audit.leaks.leak import ID_DIGITS, Leak, iso_moment
from airflow_config_providers.spark.audit.leaks.leak_finder import Occurrence, referring
from airflow_config_providers.spark.audit.leaks.object_store import real
from airflow_config_providers.spark.audit.leaks.seen_files import SearchedFile, SeenFiles
from airflow_config_providers.spark.audit.leaks.sought import OccurrenceFinder, Sought

_MOST_ODD: Final = 10
"""How many wrong lines of a baseline are named."""

_ANY: Final = ""
"""Stands for each value."""

_DIGITS: Final = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True)
class Baseline:
    """
    Accepted leaks.

    :param accepted: the id of a leak -> the fingerprints of the values that are accepted there; an empty one is any
    """

    accepted: Mapping[str, Collection[str]] = field(default_factory=dict)

    def accepts(self, leak: Leak) -> bool:
        """Return whether ``leak`` is left out. It is shown if its value cannot be compared with the accepted ones."""
        known = self.accepted.get(leak.id, ())
        return self.accepts_any(leak) or (bool(leak.fingerprint) and leak.fingerprint in known)

    def accepts_any(self, leak: Leak) -> bool:
        """Return whether whatever value is in the place of ``leak`` is accepted."""
        return _ANY in self.accepted.get(leak.id, ())

    def has_other_value(self, leak: Leak) -> bool:
        """Return whether another value than the one of ``leak`` is accepted in its place."""
        return leak.id in self.accepted and not self.accepts(leak) and not self.is_incomparable(leak)

    def is_incomparable(self, leak: Leak) -> bool:
        """Return whether only values are accepted in the place of ``leak`` whose fingerprints have other keys."""
        known = self.accepted.get(leak.id, ())
        keys = {one[:KEY_DIGITS] for one in known}
        return bool(known) and _ANY not in known and leak.fingerprint[:KEY_DIGITS] not in keys


def read_baseline(path: str) -> Baseline:
    """
    Return the accepted leaks in a file: lines of JSON, as the audit prints them, or one id a line.

    A fingerprint can follow the id, and ``#`` begins a comment. A line without fingerprint accepts any value.

    :raises ConfigException: the file cannot be read, or is no baseline
    """
    try:
        return _baseline(lines_of(path), path)
    except (OSError, UnicodeDecodeError) as error:
        problem = system_reason(error)
    raise ConfigException(f"The baseline {printable(path)} cannot be read: {problem}. Correct --baseline.")


def _baseline(lines: Iterable[str], path: str) -> Baseline:
    found, odd = defaultdict[str, set[str]](set), list[int]()
    for number, line in enumerate(lines, 1):
        if (words := _words(line)) is None:
            odd.append(number)
        elif words:
            found[words[0]].add(words[1])
        if len(odd) == _MOST_ODD:
            break
    wrong = "this is not the id of a leak. Correct it, or remove the line."
    refuse(ConfigException, (f"{printable(path)}:{number}: {wrong}" for number in odd))
    return Baseline(dict(found))


def _words(line: str) -> tuple[str, str] | tuple[()] | None:
    """Return the id and the fingerprint in a line; nothing if it is empty, and None if it is something else."""
    if line.startswith("{"):
        return _words_of_row(line)
    words = line.partition("#")[0].split()
    if not words:
        return ()
    name, mark, *more = (*words, _ANY) if len(words) == 1 else words
    is_mark = mark == _ANY or _is_hex(mark, FOUND_DIGITS)
    return (name, mark) if _is_hex(name, ID_DIGITS) and is_mark and not more else None


def _words_of_row(line: str) -> tuple[str, str] | None:
    try:
        row: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    name, mark = row.get("id"), row.get("fingerprint", _ANY)
    return (name, mark) if isinstance(name, str) and isinstance(mark, str) else None


def _is_hex(text: str, size: int) -> bool:
    return len(text) == size and _DIGITS.issuperset(text)


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
