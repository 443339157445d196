"""The records of past tries: read by Spark, each once, and kept as Parquet if there is a folder for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from hashlib import sha256
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.core.text import octets
from airflow_config_providers.lazy import pyspark
from airflow_config_providers.spark.audit import F
from airflow_config_providers.spark.audit.batches import packed
from airflow_config_providers.spark.audit.records.record_tables import (
    CONTENT,
    LISTED,
    SCHEMA,
    TRY,
    Content,
    RecordRow,
    RecordTables,
    TablesReader,
)
from airflow_config_providers.spark.audit.session import Tick
from airflow_config_providers.spark.audit.spark_failures import NO_PATH

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

ReadRecords = Callable[[Iterable[Content]], Iterator[RecordRow]]
"""Returns the records in files. It runs in executors, so it is a function of a module."""

_TICK_SECONDS: Final = 0.5
"""How often the progress is shown, unless a caller says it."""


class ReadProgress:
    """
    Counts the files that executors read. A task that runs twice is counted twice, so it is not for results.

    :param session: whose executors read
    """

    def __init__(self, session: SparkSession) -> None:
        self._read = session.sparkContext.accumulator(0)
        self._total = 0

    def expect(self, files: int) -> None:
        """Add files that will be read."""
        self._total += files

    def counting(self, read: ReadRecords) -> ReadRecords:
        """Return ``read`` with the files counted as they are read."""
        return partial(_counted, read, self._read)

    @property
    def now(self) -> tuple[int, int]:
        """How many files were read, and how many there are."""
        return min(self._read.value, self._total), self._total


def _counted(read: ReadRecords, counter: Any, contents: Iterable[Content]) -> Iterator[RecordRow]:
    return read(_each(contents, counter))


def _each(contents: Iterable[Content], counter: Any) -> Iterator[Content]:
    for one in contents:
        counter.add(1)
        yield one


@contextmanager
def ticking(session: SparkSession, tick: Tick | None, *, every: float = _TICK_SECONDS) -> Iterator[ReadProgress | None]:
    """
    Yield what counts files, and call ``tick`` now and then in a thread, which ends with the block.

    :param tick: None to count nothing, without a thread
    :param every: seconds between two calls
    """
    if tick is None:
        yield None
        return
    progress, is_over = ReadProgress(session), Event()
    thread = Thread(target=_tick, args=(progress, tick, is_over, every), name="audit-progress", daemon=True)
    thread.start()
    try:
        yield progress
    finally:
        is_over.set()
        thread.join()


def _tick(progress: ReadProgress, tick: Tick, is_over: Event, every: float) -> None:
    while not is_over.wait(every):
        tick(*progress.now)
    tick(*progress.now)


@contextmanager
def persisted(*frames: DataFrame) -> Iterator[tuple[DataFrame, ...]]:
    """
    Yield ``frames``, each of which is computed only once until the end of the block.

    Afterwards, Spark must forget them: it takes two reads of the same path for the same rows, whatever has changed.
    """
    try:
        yield tuple(frame.persist() for frame in frames)
    finally:
        for frame in frames:
            frame.unpersist()


CONFIGS: Final = {"spark.sql.files.openCostInBytes": "65536", "spark.sql.shuffle.partitions": "32"}
"""What a session needs so that a task reads thousands of small files, and millions of records are no burden."""

_FEW: Final = 20_000
"""Up to so many records, Spark takes longer to plan and compile what it does than to do it."""

_ADAPTIVE: Final = "spark.sql.adaptive.enabled"
"""Whether Spark runs a query stage by stage, as a job each, and plans the rest anew after each of them."""

_OF_FEW: Final = {
    _ADAPTIVE: "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}

_OF_MANY: Final = {
    _ADAPTIVE: "true",
    "spark.sql.shuffle.partitions": CONFIGS["spark.sql.shuffle.partitions"],
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
}


@contextmanager
def restored(session: SparkSession) -> Iterator[None]:
    """Restore, when the block ends, what reading few records has changed in the configuration of ``session``."""
    before = {key: session.conf.get(key, None) for key in _OF_FEW}
    try:
        yield
    finally:
        for key, text in before.items():
            session.conf.unset(key) if text is None else session.conf.set(key, text)


def _suit(session: SparkSession, records: int) -> None:
    """Let ``session`` do without what takes longest if there are few records, and with it again if there are many."""
    if records <= _FEW:
        configs = _OF_FEW
    elif all(session.conf.get(key, None) == text for key, text in _OF_FEW.items()):  # few were read before
        configs = _OF_MANY
    else:
        return
    for key, text in configs.items():
        session.conf.set(key, text)


LARGEST_FILE: Final = 32 * 1024 * 1024
"""The most bytes of a file that is read, as many as a record has at most."""

_DAY_FOLDER: Final = r"^(.*?/day=(\d{4}-\d{2}-\d{2}))/"
"""The folder of a day in a path, and the day."""

_TABLE: Final = "records-1"
"""The folder of the tables. It has another name when their columns change, unless one is added that can be null."""

_FILE: Final = ("file", "modified", "length")
"""The columns that are the same as long as a file is."""

_NAMED: Final = 1000
"""The most unread files that are named with their problem; the others are counted."""

_PART: Final = 5000
"""About how many records a task gets from the driver, so that its rows need not much memory."""

Contents = Callable[["DataFrame"], "DataFrame"]
"""Returns the contents of the listed files, and perhaps of others in their folders."""

_UNREADABLE: Final = "It could not be read, or it has vanished."
_NO_DAY: Final = "It is not below the folder of a day, as the other files are."


@dataclass(frozen=True, slots=True)
class PastRecords:
    """
    The records of a deployment.

    :param frame: a row for each try, with the columns of ``RecordRow``
    :param unread: name of a file -> why it is no record; only the first thousand, if there are more
    :param unread_count: how many there are
    :param count: how many records there are
    :param later_count: how many of them a later version of this package has written
    :param first: when the configuration of the first of them was settled, in ISO 8601 and UTC; None without records
    """

    frame: DataFrame = field(repr=False)
    unread: Mapping[str, str]
    unread_count: int
    count: int
    later_count: int
    first: str | None = None


@dataclass(frozen=True, slots=True)
class RecordFilter:
    """
    The records that an audit is about.

    :param since: the first day, such as ``2026-11-01``; empty for all
    :param dag: the only DAG; empty for all
    """

    since: str = ""
    dag: str = ""

    @classmethod
    def of(cls, since: str | None, dag: str | None) -> RecordFilter:
        """
        Return the filter of what a user writes.

        :raises ValueError: ``since`` is no day
        """
        return cls(date.fromisoformat(since).isoformat() if since else "", dag or "")

    def days(self, day: Column) -> Column:
        """Return whether a day is selected. What has no day always is."""
        return (day >= self.since) | ~day.rlike("^[0-9]")

    def records(self, rows: DataFrame) -> DataFrame:
        """Return the selected records in ``rows``, without what is none."""
        found = rows.where(self.days(F.col("day")) & (F.col("problem") == ""))
        return found.where(F.col("dag") == self.dag) if self.dag else found


@dataclass(frozen=True, slots=True)
class RecordReader:
    """
    Reads records on Spark.

    :param session: see ``audit_session``; it needs ``CONFIGS``
    :param read: returns the records in files
    :param parquet: the folder in which records are kept, in a table for each source; empty to keep none
    :param round_files: about how many files are read between two moments at which they are kept
    :param progress: counts the files that are read; None to count none
    """

    session: SparkSession
    read: ReadRecords
    parquet: str = ""
    round_files: int = 100_000
    progress: ReadProgress | None = None

    def of_files(self, path: str, wanted: RecordFilter) -> PastRecords:
        """Return the records in the files below ``path``. If records are kept, only files that are new are read."""
        return self._read(path, self._listed(path, wanted), partial(self._contents, path), wanted)

    def of_tables(self, source: str, tables: RecordTables, wanted: RecordFilter) -> PastRecords:
        """
        Return the records in a database that executors read. If records are kept, only those that are new are read.

        :param source: its name
        """
        there = TablesReader.of(self.session, tables)
        return self._read(source, there.listed(), there.contents, wanted)

    def _read(self, source: str, found: DataFrame, contents: Contents, wanted: RecordFilter) -> PastRecords:
        with persisted(found) as (listed,):
            if not self.parquet:
                self._expect(listed.count)
                return _past(self._parsed(contents(listed)).persist(), wanted, listed)
            self._keep_new(source, listed, contents)
            return _past(self._kept(source), wanted, listed)

    def _keep_new(self, source: str, listed: DataFrame, contents: Contents) -> None:
        """Add the records that the table does not have to it, some folders at a time, each of which is kept."""
        with persisted(_not_in(self._kept(source), listed)) as (new,):
            counts, all_counts = _by_folder(new), _by_folder(listed)
            if len(all_counts) > 1:
                counts.pop("", None)  # what is beside the folders of days is named
            self._expect(lambda: sum(counts.values()))
            for folders in packed(counts, counts.__getitem__, most=self.round_files):
                some = new.where(F.col("folder").isin(folders))
                read = contents(some)
                if any(counts[folder] < all_counts[folder] for folder in folders):
                    read = read.join(some.select(*_FILE), [*_FILE], "left_semi")
                self._keep(self._parsed(read), source)

    def of_batches(
        self,
        source: str,
        known: Mapping[str, int],
        batches: Callable[[Sequence[str]], Iterator[list[Content]]],
        wanted: RecordFilter,
    ) -> PastRecords:
        """
        Return records that the driver reads, such as those in a database. Each batch that is over is kept.

        :param source: its name
        :param known: name of each record there -> when it was modified, in microseconds since 1970
        :param batches: returns the contents of records, whose length is 0; what cannot be read has no bytes
        """
        files = [(file, modified, 0, source) for file, modified in known.items()]
        listed = self.session.createDataFrame(files, LISTED)
        if not self.parquet:
            self._expect(lambda: len(known))
            contents = [one for batch in batches(list(known)) for one in batch]
            return _past(self._parsed(self._given(contents)).persist(), wanted, listed)
        new = _not_in(self._kept(source), listed).orderBy("modified").collect()
        self._expect(lambda: len(new))
        for batch in batches([row.file for row in new]):
            self._keep(self._parsed(self._given(batch)), source)
        return _past(self._kept(source), wanted, listed)

    def _listed(self, path: str, wanted: RecordFilter) -> DataFrame:
        folder, day = (F.regexp_extract("file", _DAY_FOLDER, group) for group in (1, 2))
        return self._files([path]).select(*_FILE).withColumn("folder", folder).where(wanted.days(day))

    def _files(self, paths: Sequence[str]) -> DataFrame:
        reader = self.session.read.format("binaryFile").option("pathGlobFilter", "*.jsonl")
        # What vanishes or breaks meanwhile is missing in the rows, and therefore named.
        forgiving = {"recursiveFileLookup": "true", "ignoreMissingFiles": "true", "ignoreCorruptFiles": "true"}
        found = reader.options(**forgiving).load([_literal(path) for path in paths])
        return found.withColumns({"file": F.col("path"), "modified": F.unix_micros("modificationTime")})

    def _contents(self, path: str, new: DataFrame) -> DataFrame:
        """
        Return the files in the folders of ``new`` with their contents, without those of files that are too large.

        Millions of paths would be too many for a list of what is to be read, but not the folders of days.
        """
        days = sorted(row.folder for row in new.select("folder").distinct().collect())
        folders = [folder for folder in days if folder] or [path]
        read = self._files(folders).where((F.col("length") > 0) & (F.col("length") <= LARGEST_FILE))
        large = new.where(F.col("length") > LARGEST_FILE).withColumn("content", F.lit(None).cast("binary"))
        columns = (*_FILE, "content")
        return read.select(*columns).union(large.select(*columns))

    def _given(self, contents: Sequence[Content]) -> DataFrame:
        context = self.session.sparkContext
        parts = max(context.defaultParallelism, len(contents) // _PART)
        return self.session.createDataFrame(context.parallelize(contents, parts), CONTENT)

    def _expect(self, files: Callable[[], int]) -> None:
        if self.progress:
            self.progress.expect(files())

    def _parsed(self, contents: DataFrame) -> DataFrame:
        read = self.progress.counting(self.read) if self.progress else self.read
        rows = contents.rdd.map(lambda row: Content(*row)).mapPartitions(read)
        return self.session.createDataFrame(rows, SCHEMA, verifySchema=False)

    def _table(self, source: str) -> str:
        return f"{self.parquet.rstrip('/')}/{_TABLE}/{sha256(octets(source)).hexdigest()[:16]}"

    def _keep(self, rows: DataFrame, source: str) -> None:
        """Add rows to a table. A run that is killed leaves none of its files or some, and each is whole."""
        with restored(self.session):
            self.session.conf.set(_ADAPTIVE, "true")  # without it, Spark leaves the hint out
            by_day = self.session.sql("SELECT /*+ REBALANCE(day) */ * FROM {rows}", rows=rows)  # also in Spark 3.5
            by_day.write.mode("append").partitionBy("day").parquet(self._table(source))

    def _kept(self, source: str) -> DataFrame:
        try:
            return self.session.read.schema(SCHEMA).parquet(_literal(self._table(source)))
        except pyspark.errors.AnalysisException as error:
            if (error.getCondition() if hasattr(error, "getCondition") else error.getErrorClass()) != NO_PATH:
                raise
        return self.session.createDataFrame([], SCHEMA)


def _literal(path: str) -> str:
    """Return a pattern of Hadoop's that only ``path`` matches: Spark takes each path that it reads for a pattern."""
    return re.sub(r"[][{}*?\\]", r"\\\g<0>", path)


def _past(rows: DataFrame, wanted: RecordFilter, listed: DataFrame) -> PastRecords:
    """
    Return the selected records, each try once, and the files that have none.

    :param listed: the files that there are now; what another file had once no longer matters
    """
    why = F.when(F.col("folder") == "", _NO_DAY).otherwise(_UNREADABLE).alias("problem")
    missing = _not_in(rows, listed).select("file", why)
    broken = rows.where(F.col("problem") != "").join(listed, [*_FILE], "left_semi").select("file", "problem")
    records = latest(wanted.records(rows))
    [counts] = records.agg(F.count("*"), F.count_if("is_later"), F.min("at")).collect()
    _suit(records.sparkSession, counts[0])
    with persisted(broken.union(missing)) as (unread,):
        first = unread.orderBy("file").limit(_NAMED).collect()
        count = len(first) if len(first) < _NAMED else unread.count()
        return PastRecords(records, {row.file: row.problem for row in first}, count, *counts)


def _not_in(rows: DataFrame, listed: DataFrame) -> DataFrame:
    return listed.join(rows.select(*_FILE), [*_FILE], "left_anti")


def _by_folder(files: DataFrame) -> dict[str, int]:
    """Return folder -> number of files, in order."""
    counted = files.groupBy("folder").count().orderBy("folder").collect()
    return {row["folder"]: row["count"] for row in counted}


def latest(rows: DataFrame) -> DataFrame:
    """Return what each try had last. The rows of a task are in one partition afterwards."""
    newest_first = pyspark.sql.Window.partitionBy(*TRY).orderBy(*map(F.desc, ("at", "modified", "file")))
    numbered = rows.repartition("dag", "task").withColumn("number", F.row_number().over(newest_first))
    return numbered.where(F.col("number") == 1).drop("number")
