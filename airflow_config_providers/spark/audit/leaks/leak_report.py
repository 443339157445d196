"""
The result of a search for leaks: as it differs from a baseline, with the paths that show a value by themselves.

It can be a page of HTML, with the kinds of files in which values are found.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import PurePosixPath
from typing import Any, Final

from airflow_config_providers.core.named_file import lines_of
from airflow_config_providers.core.text import counted, how_many, printable
from airflow_config_providers.exceptions import ConfigException, refuse, system_reason
from airflow_config_providers.spark.audit import html_page as html
from airflow_config_providers.spark.audit.html_page import Bar, Plot, monday, ranking, weekly
from airflow_config_providers.spark.audit.leaks.database_search import SearchedRows
from airflow_config_providers.spark.audit.leaks.file_listing import FileListing, FoundFile
from airflow_config_providers.spark.audit.leaks.fingerprint import FOUND_DIGITS, KEY_DIGITS
from airflow_config_providers.spark.audit.leaks.leak import ID_DIGITS, Leak, iso_moment
from airflow_config_providers.spark.audit.leaks.leak_finder import Occurrence, referring, without_values
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


def summary(report: LeakReport) -> str:
    """Return the result in one line."""
    accepted = f", and {report.accepted} that the baseline accepts" if report.accepted else ""
    files = how_many(report.files, "file") if report.files or not report.rows else ""
    rows = f"{how_many(report.rows, 'row')} of Airflow's database" if report.rows else ""
    what = " and ".join(filter(None, (files, rows)))
    size = f" with {how_many(report.octets, 'byte')}" if report.octets else ""
    read = f" ({report.read:,} read now)" if report.files else ""
    unread = f", {counted(report.unsearched, 'path')} could not be read" if report.unsearched else ""
    return f"{what}{size} searched{read}{unread}: {how_many(len(report.leaks), 'leak')}{accepted}.{_limit(report)}"


def _limit(report: LeakReport) -> str:
    """Return what was not searched for: a value that was rotated before the search is not found."""
    only_current = report.sought.secrets and not report.sought.fingerprints
    return " Only current values were searched for." if only_current else ""


def nothing_found(report: LeakReport) -> str:
    """Return what to say if there are no leaks."""
    return "Nothing found." if report.is_complete else "Nothing found so far."


def page(report: LeakReport, scope: html.AuditScope = html.NOT_KNOWN) -> str:
    """
    Return the page, in which nothing that came from outside is markup.

    :param scope: what was searched; values in it are shown as references
    """
    return html.page_of(
        "Leaks of known values",
        html.verdict(_verdict(report)),
        html.paragraph(summary(report)),
        html.plots(_plots(report.leaks)),
        _undated(report.leaks),
        scope.section(partial(without_values, find=report.sought.finder().find)),
        _unread(report),
        html.table_section("Without a copy", ("file", "why"), sorted(report.uncopied.items())),
        _table(report.leaks),
    )


def _verdict(report: LeakReport) -> str:
    if report.leaks:
        files = {leak.file for leak in report.leaks}
        return f"{how_many(len(report.leaks), 'leak')} in {how_many(len(files), 'file')}."
    return nothing_found(report)


def _plots(leaks: Sequence[Leak]) -> tuple[str, ...]:
    dated = [leak for leak in leaks if leak.modified]
    return (
        weekly(Plot("By week of the file or row", "leaks"), _bars(dated, lambda leak: monday(leak.modified))),
        ranking(Plot("By kind of file", "leaks"), _bars(leaks, lambda leak: sink(leak.file))),
        ranking(Plot("By DAG", "leaks"), _bars(leaks, lambda leak: dag(leak.file) or "(no DAG in the path)")),
        ranking(Plot("By reference", "leaks"), _bars(leaks, lambda leak: leak.reference)),
        ranking(Plot("By encoding", "leaks"), _bars(leaks, lambda leak: leak.encoding)),
    )


def _undated(leaks: Sequence[Leak]) -> str:
    count = sum(not leak.modified for leak in leaks)
    if not count:
        return ""
    return html.paragraph(f"{counted(count, 'leak')} in stores or tables that give no time: not in any week.")


def _bars(leaks: Sequence[Leak], name: Callable[[Leak], str]) -> list[Bar]:
    return [Bar(*one) for one in Counter(map(name, leaks)).most_common()]


def _unread(report: LeakReport) -> str:
    skipped = [(path, f"Skipped: {why}.") for path, why in sorted(report.skipped.items())]
    return html.table_section("Not read, or not wholly", ("file", "why"), [*sorted(report.unread.items()), *skipped])


def _table(leaks: Sequence[Leak]) -> str:
    heads = {
        "file": "file",
        "kind": "kind of file",
        **({"column": "column"} if any(one.column for one in leaks) else {}),
    }
    heads |= {name: name for name in ("line", "offset", "reference", "encoding", "age")}
    heads |= {"modified": "modified (UTC)", "id": "id"}
    rows = [{**one.row(), "kind": sink(one.file), "modified": html.moment(one.modified)} for one in leaks]
    return html.table_section("Leaks", list(heads.values()), [[row[name] for name in heads] for row in rows])


_DATABASE: Final = re.compile(r"^database:([^.:]+)")
_DAG: Final = re.compile(r"(?:^|[/:])dag_id=([^/]+)")
"""The folder in which Airflow keeps the logs of a DAG, or the name of a row in its database."""

_RENDERED: Final = re.compile(r"rendered[-_]?(?:task[-_]?instance[-_]?)?(?:fields|template)", re.IGNORECASE)

_APPLICATION: Final = r"(?:application_\d+_\d+|app-\d+-\d+|local-\d+|spark-[0-9a-f]{32})"
"""What Spark and its cluster managers call an application."""

_EVENTS: Final = re.compile(
    rf"(?:^|/)(?:eventlog_v2_[^/]+/events_|{_APPLICATION}(?:_\w+)?(?:\.(?:lz4|lzf|snappy|zstd))?(?:\.inprogress)?$)"
)

_COMPONENT: Final = re.compile(r"(?:^|/)(scheduler|dag_processor|dag_processor_manager|triggerer)/")
"""A folder of the logs of a part of Airflow."""


def sink(path: str) -> str:
    """Return the kind of a file by its path."""
    if _RENDERED.search(path):
        return "rendered fields"
    if table := _DATABASE.match(path):
        return f"Airflow's database, {table[1]}"
    if _EVENTS.search(path):
        return "Spark event log"
    if _DAG.search(path):
        return "task log"
    if component := _COMPONENT.search(path):
        return f"log of Airflow, {component[1]}"
    if path.endswith(".parquet"):
        return "table in Parquet"
    return f"other, {''.join(PurePosixPath(path).suffixes[-2:]) or 'no extension'}"


def dag(path: str) -> str:
    """Return the DAG whose log a file is, by its path; empty if it is none."""
    found = _DAG.search(path)
    return found[1] if found else ""
