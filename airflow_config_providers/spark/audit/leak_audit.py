"""The Spark job that searches files for known values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.spark.audit.files import FoundFile, Listing, Split, grouped, splits_of
from airflow_config_providers.spark.audit.leak import Leak, moment
from airflow_config_providers.spark.audit.leak_finder import KnownSecret, LeakFinder
from airflow_config_providers.spark.audit.search import Searched, search

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ROUND: Final = 32
"""How many groups each core searches between two moments at which what was found is kept."""

_made: list[tuple[object, LeakFinder]] = []
"""The finder of this process of an executor, which takes a while to build, and the values that it finds."""


@dataclass(frozen=True, slots=True)
class FileLeaks:
    """
    What was found in one file.

    :param file: the file as it was when it was listed
    :param leaks: in order
    :param octets: how many bytes were searched
    :param problem: why not all of it was; empty if all was
    """

    file: FoundFile
    leaks: Sequence[Leak]
    octets: int
    problem: str = ""


@dataclass(slots=True)
class LeakReport:
    """
    The result of an audit.

    :param leaks: all leaks, by file and offset
    :param unread: path -> why it, or a part of it, could not be read
    :param skipped: path -> why it was not read: links, pipes, sockets, devices
    :param files: how many files were searched
    :param octets: how many bytes were searched
    """

    leaks: list[Leak] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)
    skipped: Mapping[str, str] = field(default_factory=dict)
    files: int = 0
    octets: int = 0


class LeakAudit:
    """
    Searches files on Spark.

    The values reach executors by one broadcast, which is encrypted. They are in no configuration, plan or argument.

    :param session: see ``audit_session``
    :param secrets: the values to search for
    :param tick: is told, now and then, how many files and bytes were searched so far
    """

    def __init__(
        self,
        session: SparkSession,
        secrets: Sequence[KnownSecret],
        *,
        tick: Callable[[int, int], None] = lambda files, octets: None,
    ) -> None:
        self._context = session.sparkContext
        self._values = self._context.broadcast([(one.variable, one.value, one.is_current) for one in secrets])
        self._tick = tick

    def run(self, listing: Listing) -> LeakReport:
        """Search the files of ``listing``."""
        report = LeakReport(unread=dict(listing.unread), skipped=listing.skipped)
        for one in self.searched(splits_of(file) for file in listing.files):
            report.leaks += one.leaks
            report.files += 1
            report.octets += one.octets
            if one.problem:
                report.unread[one.file.path] = one.problem
        report.leaks.sort()
        return report

    def searched(self, files: Iterable[Iterable[Split]]) -> Iterator[FileLeaks]:
        """
        Yield what was found in each file, as soon as a round of tasks is over.

        :param files: for each file its splits, in order
        """
        groups = grouped(split for file in files for split in file)
        waiting: dict[str, list[Searched]] = {}
        last: str | None = None
        total_files = total_octets = 0
        while some := list(islice(groups, _ROUND * self._context.defaultParallelism)):
            for one in self._round(some):
                path = one.split.file.path
                if last is not None and path != last:
                    yield _of_file(waiting.pop(last))
                    total_files += 1
                waiting.setdefault(path, []).append(one)
                last = path
                total_octets += one.octets
            self._tick(total_files, total_octets)
        if last is not None:
            yield _of_file(waiting.pop(last))
            self._tick(total_files + 1, total_octets)

    def _round(self, groups: Sequence[Sequence[Split]]) -> list[Searched]:
        """Return the results of all splits in ``groups``, in order. A lost executor costs its tasks only."""
        values = self._values
        tasks = self._context.parallelize(groups, len(groups))
        found = tasks.map(lambda group: _search_all(group, values)).collect()
        return [one for group in found for one in group]

    def close(self) -> None:
        """Remove the values from the executors."""
        self._values.destroy()


def _search_all(group: Iterable[Split], values: Any) -> list[Searched]:
    finder = _finder(values.value)
    return [search(split, finder) for split in group]


def _finder(values: Sequence[tuple[ConfigVariable, str, bool]]) -> LeakFinder:
    """Return the finder of this process. Spark keeps a broadcast value while the process has tasks that use it."""
    if _made and _made[0][0] is values:
        return _made[0][1]
    _made[:] = [(values, LeakFinder(KnownSecret(*one) for one in values))]
    return _made[0][1]


def _of_file(results: Sequence[Searched]) -> FileLeaks:
    """Return the results of the splits of a file as one, with the numbers of lines in the whole file."""
    file, lines = results[0].split.file, 0
    leaks: list[Leak] = []
    problems: dict[str, None] = {}
    for one in results:
        leaks += [
            Leak(
                file.path,
                found.occurrence.start,
                lines + found.lines + 1,
                found.occurrence.reference,
                found.occurrence.encoding,
                "current" if found.occurrence.is_current else "earlier",
                moment(file.modified),
            )
            for found in one.leaks
        ]
        lines += one.lines
        if one.problem:
            problems[one.problem] = None
    return FileLeaks(file, leaks, sum(one.octets for one in results), " ".join(problems))
