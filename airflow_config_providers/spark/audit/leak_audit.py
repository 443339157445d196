"""The Spark job that searches files for known values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.spark.audit.files import FoundFile, Listing, Split, grouped, splits_of
from airflow_config_providers.spark.audit.leak import Leak, moment
from airflow_config_providers.spark.audit.leak_finder import KnownSecret, LeakFinder
from airflow_config_providers.spark.audit.reversed_copies import write_copy
from airflow_config_providers.spark.audit.search import FoundLeak, Searched, search
from airflow_config_providers.spark.audit.seen_files import SearchedFile, SeenFiles, grown_since, is_unchanged

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ROUND: Final = 32
"""How many groups each core searches between two moments at which what was found is kept."""

_SECONDS: Final = 0.5
"""How often the progress is told."""

_made: list[tuple[object, LeakFinder]] = []
"""The finder of this process of an executor, which takes a while to build, and the values that it finds."""


@dataclass(slots=True)
class LeakReport:
    """
    The result of an audit.

    :param leaks: all leaks, by file and offset
    :param unread: path -> why it, or a part of it, could not be read
    :param skipped: path -> why it was not read: links, pipes, sockets, devices
    :param files: how many files were searched
    :param octets: how many bytes were searched
    :param read: how many of the files were read by this audit, and not by an earlier one
    """

    leaks: list[Leak] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)
    skipped: Mapping[str, str] = field(default_factory=dict)
    files: int = 0
    octets: int = 0
    read: int = 0

    def add(self, one: SearchedFile) -> None:
        """Add what was found in a file."""
        self.leaks += one.leaks
        self.files += 1
        self.octets += one.octets
        if one.problem:
            self.unread[one.file.path] = one.problem


class LeakAudit:
    """
    Searches files on Spark.

    The values reach executors by one broadcast, which is encrypted. They are in no configuration, plan or argument.

    :param session: see ``audit_session``
    :param secrets: the values to search for
    :param tick: is called now and then with the bytes that were read so far, and the bytes to read in all
    """

    def __init__(
        self,
        session: SparkSession,
        secrets: Sequence[KnownSecret],
        *,
        tick: Callable[[int, int], None] = lambda octets, total: None,
    ) -> None:
        self._context = session.sparkContext
        self._values = self._context.broadcast([(one.variable, one.value, one.is_current) for one in secrets])
        self._margin = LeakFinder(secrets).margin
        self._octets = self._context.accumulator(0)
        self._tick = tick

    def run(self, listing: Listing, seen: SeenFiles | None = None) -> LeakReport:
        """
        Search the files of ``listing``.

        :param seen: what earlier audits have searched; it learns what this one has. None to search everything
        """
        report = LeakReport(unread=dict(listing.unread), skipped=listing.skipped)
        known = dict(seen.files) if seen else {}
        todo = [file for file in listing.files if not is_unchanged(file, known.get(file.path))]
        grown = {file.path: found for file in todo if (found := grown_since(file, known.get(file.path), self._margin))}
        self._total = sum(file.size - (grown[file.path].file.size if file.path in grown else 0) for file in todo)
        for path in {file.path for file in listing.files}.difference(file.path for file in todo):
            report.add(known[path])
        for some in self._searched(todo, grown):
            report.read += len(some)
            for one in some:
                report.add(one)
            if seen:
                seen.keep(some)
        if seen:
            seen.compact({file.path for file in listing.files})
        report.leaks.sort()
        return report

    def copy(self, files: Sequence[FoundFile], target: Callable[[str], Path]) -> dict[str, str]:
        """
        Write copies of files, with references in place of the values.

        :param target: returns where the copy of a file goes
        :return: path -> why there is no copy
        """
        values = self._values
        pairs = [(file, target(file.path)) for file in files]
        groups = [[(one.file, target(one.file.path)) for one in group] for group in grouped(map(Split, files))]
        tasks = self._context.parallelize(groups, max(1, len(groups)))
        problems = tasks.flatMap(lambda group: _copy_all(group, values)).collect()
        return {file.path: problem for (file, _), problem in zip(pairs, problems, strict=True) if problem}

    def _searched(self, files: Iterable[FoundFile], grown: Mapping[str, SearchedFile]) -> Iterator[list[SearchedFile]]:
        """
        Yield what was found in the files, as soon as a round of tasks is over.

        :param grown: path -> what was found in the beginning of a file, which is not searched again
        """
        begins = {path: one.file.size for path, one in grown.items()}
        groups = grouped(split for file in files for split in splits_of(file, begin=begins.get(file.path, 0)))
        pending: list[Searched] = []
        while some := list(islice(groups, _ROUND * self._context.defaultParallelism)):
            pending += self._round(some)
            last = pending[-1].split.file.path  # perhaps not all of it was searched in this round
            yield _by_file((one for one in pending if one.split.file.path != last), grown)
            pending = [one for one in pending if one.split.file.path == last]
        if pending:
            yield _by_file(pending, grown)

    def _round(self, groups: Sequence[Sequence[Split]]) -> list[Searched]:
        """Return the results of all splits in ``groups``, in order. A lost executor costs its tasks only."""
        values, octets = self._values, self._octets
        tasks = self._context.parallelize(groups, len(groups))
        with ThreadPoolExecutor(1) as threads:
            found = threads.submit(tasks.map(lambda group: _search_all(group, values, octets)).collect)
            while not found.done():
                wait([found], _SECONDS)
                self._tick(self._octets.value, self._total)
        return [one for group in found.result() for one in group]

    def close(self) -> None:
        """Remove the values from the executors."""
        self._values.destroy()


def _search_all(group: Iterable[Split], values: Any, octets: Any) -> list[Searched]:
    finder = _finder(values.value)
    return [search(split, finder, octets.add) for split in group]


def _copy_all(group: Iterable[tuple[FoundFile, Path]], values: Any) -> list[str]:
    finder = _finder(values.value)
    return [write_copy(file, target, finder.reversers) for file, target in group]


def _finder(values: Sequence[tuple[ConfigVariable, str, bool]]) -> LeakFinder:
    """Return the finder of this process. Spark keeps a broadcast value while the process has tasks that use it."""
    if _made and _made[0][0] is values:
        return _made[0][1]
    _made[:] = [(values, LeakFinder(KnownSecret(*one) for one in values))]
    return _made[0][1]


def _by_file(results: Iterable[Searched], grown: Mapping[str, SearchedFile]) -> list[SearchedFile]:
    return [_of_file(list(of), grown.get(path)) for path, of in groupby(results, lambda one: one.split.file.path)]


def _of_file(results: Sequence[Searched], before: SearchedFile | None) -> SearchedFile:
    """Return the results of the splits of a file as one, with the numbers of lines in the whole file."""
    file = results[0].split.file
    leaks, lines = ([*before.leaks], before.lines) if before else (list[Leak](), 0)
    for one in results:
        leaks += [_leak(file, found, lines) for found in one.leaks]
        lines += one.lines
    octets = sum(one.octets for one in results) + (before.octets if before else 0)
    problems = dict.fromkeys(one.problem for one in results if one.problem)
    return SearchedFile(file, leaks, lines, octets, " ".join(problems), results[-1].tail)


def _leak(file: FoundFile, found: FoundLeak, lines: int) -> Leak:
    one = found.occurrence
    age = "current" if one.is_current else "earlier"
    return Leak(file.path, one.start, lines + found.lines + 1, one.reference, one.encoding, age, moment(file.modified))
