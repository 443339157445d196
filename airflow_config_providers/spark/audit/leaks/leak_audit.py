"""The Spark job that searches files for known values."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from weakref import ref

from airflow_config_providers.exceptions import ConfigException, refuse
from airflow_config_providers.spark.audit.batches import packed
from airflow_config_providers.spark.audit.leaks.database_search import (
    SearchedRows,
    TextDatabase,
    TextTable,
    search_rows,
    search_tables,
)
from airflow_config_providers.spark.audit.leaks.file_listing import (
    FileListing,
    FoundFile,
    GroupRow,
    Split,
    group_of,
    grouped,
    row_of,
    splits_of,
)
from airflow_config_providers.spark.audit.leaks.fingerprint import FingerprintKey
from airflow_config_providers.spark.audit.leaks.leak import (
    Found,
    FoundColumns,
    FoundLeak,
    Leak,
    SplitLeaks,
    columns_of,
    iso_moment,
)
from airflow_config_providers.spark.audit.leaks.leak_report import Baseline, LeakReport, RevealingPaths, read_baseline
from airflow_config_providers.spark.audit.leaks.object_store import ObjectStore, is_stored, mount, mounted
from airflow_config_providers.spark.audit.leaks.reversed_copies import target_of, write_copies
from airflow_config_providers.spark.audit.leaks.seen_files import (
    SearchedFile,
    SeenFiles,
    grown_since,
    is_unchanged,
    locked,
)
from airflow_config_providers.spark.audit.leaks.sought import Sought, SoughtFinder
from airflow_config_providers.spark.audit.leaks.split_search import Search, search_all
from airflow_config_providers.spark.audit.session import Tick, audit_session, job_failed
from airflow_config_providers.spark.audit.spark_failures import translating_failures

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ROUND: Final = 32
"""How many groups each core searches, at most, between two moments at which what was found is kept."""

_ROUND_FILES: Final = 32_000
"""How many files each core searches, at most, between two such moments."""

_SECONDS: Final = 0.5
"""Seconds between two reports of the progress."""

_REQUESTS: Final = 8
"""How many objects each core reads side by side."""

_MORE_OBJECTS: Final = 200_000
"""How many objects are added between two collections; by default, Python goes through them every few hundred."""

_NOT_STORED: Final = "only what is searched can be in object storage. Name a path in the file system."


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class SentToExecutors:
    """
    What executors get by the broadcast.

    :param sought: what to search for
    :param stores: the stores of objects that files are in
    """

    sought: Sought = field(repr=False)
    stores: Sequence[ObjectStore] = field(default=(), repr=False)


def no_tick(octets: int, total: int) -> None:
    """Ignore the progress."""


_made: list[tuple[ref[SentToExecutors], SoughtFinder]] = []
"""The finder of this process of an executor, which takes a while to build, as long as it has what was sent for it."""


@dataclass(frozen=True, slots=True)
class LeakRequest:
    """
    What to search, and what to leave behind.

    :param paths: files and folders, which can be in object storage; nothing else of a request can
    :param baseline: a file with accepted leaks
    :param state: a folder that keeps what was searched, so that the next audit reads only what is new
    :param reversed_copy: a folder for copies with references in place of the values
    :param master: Spark's master; None for the one of Spark's own defaults, or else this machine
    :param configs: configuration of the Spark job
    :param database: a database to search, too, each time as a whole; None for none
    :param fingerprints: files with fingerprints of values to search for
    :param write_fingerprints: a file for the fingerprints of the values
    :param tokens: whether tokens of well-known formats are searched for, too
    :param excepted: patterns of references that are no secrets, in which ``*`` is any text
    """

    paths: Sequence[str]
    baseline: str | None = None
    state: str | None = None
    reversed_copy: str | None = None
    master: str | None = None
    configs: Mapping[str, str] = field(default_factory=dict)
    database: TextDatabase | None = None
    fingerprints: Sequence[str] = ()
    write_fingerprints: str | None = None
    tokens: bool = False
    excepted: Sequence[str] = ()

    def require_local(self) -> None:
        """
        Check that only ``paths`` are in object storage.

        :raises ConfigException: something else is
        """
        given = {
            "--baseline": (self.baseline,),
            "--state": (self.state,),
            "--reversed-copy": (self.reversed_copy,),
            "--fingerprints": self.fingerprints,
            "--write-fingerprints": (self.write_fingerprints,),
        }
        wrong = (option for option, paths in given.items() if any(is_stored(path) for path in paths if path))
        refuse(ConfigException, (f"{option}: {_NOT_STORED}" for option in wrong))  # the path could have a password


def audit_leaks(
    request: LeakRequest, sought: Sought, *, stores: Sequence[ObjectStore] = (), tick: Tick = no_tick
) -> LeakReport:
    """
    Search files, in a Spark session of its own, and return what was found without what is accepted.

    :param stores: the stores of objects that paths of the request are in
    :param tick: is called now and then with the bytes that were read so far, and the bytes to read in all
    :raises ConfigException: a file or folder of the request cannot be used, or Spark does not start
    """
    with seldom_collected(), mounted(stores), locked(request.state) if request.state else nullcontext():
        return _audited(request, sought, stores, tick)


def _audited(request: LeakRequest, wanted: Sought, stores: Sequence[ObjectStore], tick: Tick) -> LeakReport:
    accepted = read_baseline(request.baseline) if request.baseline else Baseline()
    seen = SeenFiles.open(request.state, wanted) if request.state else None
    sought = seen.sought if seen else wanted
    finder, listing = sought.finder(), FileListing.of(request.paths)
    revealing = RevealingPaths.of(listing, request.paths, finder)
    target = target_of(request.reversed_copy, request.paths) if request.reversed_copy else None
    work = Work.of(listing, seen.files if seen else {}, margin=finder.margin, key=sought.key)
    unread = dict(listing.unread)
    report = LeakReport(unread=unread, unsearched=len(unread), skipped=listing.skipped, sought=sought)
    for one in work.unchanged:
        report.add(one)
    if work.files or (target and listing.files) or request.database:
        with (
            audit_session(request.master, request.configs) as session,
            closing(LeakAudit(session, sought, stores=stores, tick=tick)) as audit,
        ):
            for some in audit.run(work):
                report.add_all(some, seen, hidden=revealing.shown)
            if target:
                report.uncopied.update(dict.fromkeys(revealing.shown, "Its path shows a value."))
                report.uncopied.update(audit.copy(revealing.others(listing.files), target))
            if request.database:
                report.add_tables(audit.search_database(request.database))
    if seen:
        seen.compact(listing.present(seen.files))
        report.notes = [*seen.notes, *report.notes]
    report.show(revealing)
    report.leaks.sort(key=lambda leak: (leak.file, leak.line, leak))  # in Parquet, offsets are those in cells
    report.accept(accepted)
    return report


@contextmanager
def seldom_collected() -> Iterator[None]:
    """
    Look for garbage seldom until the end of the block; half of the time would go into that.

    Only objects that refer to each other in a circle wait for that. All others are freed as soon as they are not used.
    """
    first, *others = gc.get_threshold()
    if first:  # otherwise nothing is collected in this process
        gc.set_threshold(max(first, _MORE_OBJECTS), *others)
    try:
        yield
    finally:
        gc.set_threshold(first, *others)


@dataclass(frozen=True, slots=True)
class Work:
    """
    What an audit has to do.

    :param files: the files to search
    :param grown: path -> what was found in the beginning of a file, which is not searched again
    :param unchanged: what was found in files that are as they were
    """

    files: Sequence[FoundFile]
    grown: Mapping[str, SearchedFile] = field(default_factory=dict)
    unchanged: Sequence[SearchedFile] = ()

    @classmethod
    def of(
        cls, listing: FileListing, known: Mapping[str, SearchedFile], *, margin: int, key: FingerprintKey | None = None
    ) -> Work:
        """Return what is to be done with the files of ``listing``, of which some are ``known`` by path."""
        files = [file for file in listing.files if not is_unchanged(file, known.get(file.path))]
        begun = ((file.path, grown_since(file, known.get(file.path), margin=margin, key=key)) for file in files)
        grown = {path: found for path, found in begun if found}
        old = {file.path for file in listing.files}.difference(file.path for file in files)
        return cls(files, grown, [known[path] for path in sorted(old)])

    @property
    def octets(self) -> int:
        """How many bytes are to be read."""
        return sum(file.size for file in self.files) - sum(one.file.size for one in self.grown.values())

    def splits(self) -> Iterator[Split]:
        """Yield the splits of all files."""
        for file in self.files:
            begun = self.grown.get(file.path)
            yield from splits_of(file, begin=begun.file.size if begun else 0)


class LeakAudit:
    """
    Searches files on Spark.

    The values, and the credentials of ``stores``, reach executors by one broadcast, which is encrypted. They are in no
    configuration, plan or argument.

    :param session: see ``audit_session``
    :param sought: what to search for
    :param stores: the stores of objects that files are in
    :param tick: is called now and then with the bytes that were read so far, and the bytes to read in all
    """

    def __init__(
        self, session: SparkSession, sought: Sought, *, stores: Sequence[ObjectStore] = (), tick: Tick = no_tick
    ) -> None:
        self._session = session
        self._context = session.sparkContext
        self._sent = self._context.broadcast(SentToExecutors(sought, tuple(stores)))
        self._octets = self._context.accumulator(0)
        self._tick = tick

    def run(self, work: Work) -> Iterator[list[SearchedFile]]:
        """Search files, and yield what was found in some of them as soon as a round of tasks is over."""
        total = work.octets
        pending: list[SplitLeaks] = []
        cores = self._context.defaultParallelism
        for some in packed(grouped(work.splits()), len, most=_ROUND_FILES * cores, count=_ROUND * cores):
            pending += self._round(some, total)
            last = pending[-1].split.file.path  # perhaps not all of it was searched in this round
            yield _by_file((one for one in pending if one.split.file.path != last), work.grown)
            pending = [one for one in pending if one.split.file.path == last]
        if pending:
            yield _by_file(pending, work.grown)

    def copy(self, files: Sequence[FoundFile], target: Callable[[str], Path]) -> dict[str, str]:
        """
        Write copies of files, with references in place of the values.

        :param target: returns where the copy of a file goes
        :return: path -> why there is no copy
        """
        sent = self._sent
        groups = [[(one.file, target(one.file.path)) for one in group] for group in grouped(map(Split, files))]
        tasks = self._context.parallelize(groups, max(1, len(groups)))
        with translating_failures(job_failed):
            problems = tasks.flatMap(lambda group: write_copies(group, _finder(sent.value))).collect()
        return {file.path: problem for file, problem in zip(files, problems, strict=True) if problem}

    def search_database(self, database: TextDatabase) -> SearchedRows:
        """Search the text in a database."""
        return search_tables(self._session, database, partial(_search_rows, self._sent))

    def _round(self, groups: Sequence[Sequence[Split]], total: int) -> list[SplitLeaks]:
        """Return the results of all splits in ``groups``, in order. A lost executor costs its tasks only."""
        sent, octets = self._sent, self._octets
        tasks = self._context.parallelize([row_of(group) for group in groups], len(groups))
        with translating_failures(job_failed), ThreadPoolExecutor(1) as threads:
            found = threads.submit(tasks.flatMap(lambda row: _search_all(row, sent, octets)).collect)
            while not found.done():
                wait([found], _SECONDS)
                self._tick(self._octets.value, total)
            splits = chain.from_iterable(groups)
            rows = chain.from_iterable(zip(*columns, strict=True) for columns in found.result())
            return [SplitLeaks(split, Found(*row)) for split, row in zip(splits, rows, strict=True)]

    def close(self) -> None:
        """Remove values and credentials from the executors, whose Python processes forget them before another task."""
        self._sent.destroy()


def _search_all(row: GroupRow, sent: Any, octets: Any) -> Iterator[FoundColumns[FoundLeak]]:
    finder, splits = _finder(sent.value), list(group_of(row))
    if not any(is_stored(split.file.path) for split in splits):
        yield from map(columns_of, search_all(splits, finder, octets.add))
        return
    # A small object is mostly time that passes until its store answers.
    with Search(finder, octets.add) as search, ThreadPoolExecutor(_REQUESTS) as threads:
        for one in threads.map(search, splits):
            yield columns_of([one])


def _search_rows(sent: Any, table: TextTable, rows: Iterable[Sequence[Any]]) -> SearchedRows:
    return search_rows(table, rows, _finder(sent.value))


def _finder(sent: SentToExecutors) -> SoughtFinder:
    """
    Return the finder of this process, which then can also read the stores.

    Spark keeps a broadcast value while the process has tasks that use it.
    """
    if _made and _made[0][0]() is sent:
        return _made[0][1]
    mount(sent.stores)
    gc.unfreeze()
    _made[:] = [(ref(sent, _forget), finder := sent.sought.finder())]
    _ = finder.margin  # builds its tables
    gc.collect()
    gc.freeze()  # Spark's worker collects garbage after each task, and would go through all the tables each time
    return finder


def _forget(sent: ref[SentToExecutors]) -> None:
    """Remove the finder and the stores of this process, because Spark has removed what was sent."""
    if _made and _made[0][0] is sent:
        _made.clear()
        mount(())
        gc.unfreeze()
        gc.collect()  # parts of a finder refer to each other in a circle


def _by_file(results: Iterable[SplitLeaks], grown: Mapping[str, SearchedFile]) -> list[SearchedFile]:
    return [_of_file(list(of), grown.get(path)) for path, of in groupby(results, attrgetter("split.file.path"))]


def _of_file(results: Sequence[SplitLeaks], before: SearchedFile | None) -> SearchedFile:
    """Return the results of the splits of a file as one, with the numbers of lines in the whole file."""
    split, first = results[0]
    if len(results) == 1 and not first.leaks and not before:  # almost always, and fast
        return SearchedFile(split.file, Found((), *first[1:]))
    leaks, octets, lines, _, _ = before.found if before else Found[Leak]()
    leaks = [*leaks]
    for _, one in results:
        leaks += [_leak(split.file, found, lines) for found in one.leaks]
        lines += one.lines
        octets += one.octets
    problems = dict.fromkeys(one.problem for _, one in results if one.problem)
    return SearchedFile(split.file, Found(leaks, octets, lines, " ".join(problems), results[-1].found.ends))


def _leak(file: FoundFile, found: FoundLeak, lines: int) -> Leak:
    line, at = lines + found.lines + 1, iso_moment(file.modified)
    return Leak.of(found.occurrence, file.path, line=line, modified=at, column=found.column)
