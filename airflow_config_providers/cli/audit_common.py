"""
What the audit commands share: the records that they read, and the files that they write.

Their progress is a bar on a terminal, and lines in the log of a scheduler or of a CI job.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from airflow_config_providers import settings
from airflow_config_providers.cli.arguments import pairs
from airflow_config_providers.cli.failing import Notes, WrongArgumentsError, write_or_drop
from airflow_config_providers.cli.output import show
from airflow_config_providers.core.text import printable
from airflow_config_providers.deployment.audits import (
    RecordsChoice,
    problems_of,
    record_reader,
    require_no_connection,
)
from airflow_config_providers.deployment.database_records import first_of_database, records_of_database
from airflow_config_providers.deployment.rows import Row
from airflow_config_providers.exceptions import ConfigProvidersError, translating
from airflow_config_providers.spark.audit.html_page import moment
from airflow_config_providers.spark.audit.records.past_records import PastRecords, RecordFilter, RecordReader
from airflow_config_providers.spark.audit.report_file import require_places, write_findings, write_page
from airflow_config_providers.spark.audit.session import Tick

if TYPE_CHECKING:
    from typing import IO

    from pyspark.sql import SparkSession
    from rich.console import Console
    from rich.progress import ProgressColumn, Task

_Known = TypeVar("_Known")

EVERY: Final = 30.0
"""Seconds from the start to the first line, and from one line to the next."""


Counted = Callable[[float], str]
"""Returns a number of what is read, as people read it."""


@dataclass(frozen=True, slots=True)
class Audited:
    """The records that a command is about, on Spark."""

    session: SparkSession
    records: PastRecords
    choice: RecordsChoice
    read: Callable[[str], PastRecords]
    """Returns the records in the files below another path, and notes what could not be read."""


def spark_configs(args: Any) -> dict[str, str]:
    """
    Return the configuration of the Spark job in ``--conf``.

    :raises WrongArgumentsError: one has another form
    """
    return dict(pair for text in args.conf or () for pair in pairs(text))


@contextmanager
def audited(args: Any, notes: Notes) -> Iterator[Audited]:
    """
    Yield the records that ``args`` select, and note what could not be read.

    :raises WrongArgumentsError: an option is wrong
    :raises ConfigException: there is no such folder, its path names a connection, or what is found could not be written
    :raises ProviderUnavailableError: Spark or the database cannot read them
    """
    wanted = _filter(args)
    require_places(args.report, args.output_parquet)
    for path in (_path(args), getattr(args, "against", None) or ""):
        require_no_connection(path)
    configs = spark_configs(args)
    with files_progress() as tick, record_reader(args.parquet or "", args.master, configs, tick) as reader:
        records = _records(args, reader, wanted, notes)
        for problem in problems_of(records):
            notes(problem)
        choice = RecordsChoice(_path(args), args.parquet, args.since, args.dag)
        yield Audited(reader.session, records, choice, partial(_compared, reader, wanted, notes))


def _compared(reader: RecordReader, wanted: RecordFilter, notes: Notes, path: str) -> PastRecords:
    found = reader.of_files(path, wanted)
    for problem in problems_of(found, path):
        notes(problem)
    return found


def _path(args: Any) -> str:
    """Return the folder of the records; empty for those in Airflow's database."""
    return args.records or settings.records_path() or ""


def _records(args: Any, reader: RecordReader, wanted: RecordFilter, notes: Notes) -> PastRecords:
    """Return the records of ``--records``, of the deployment's own path or, without one, of Airflow's database."""
    if path := _path(args):
        found = reader.of_files(path, wanted)
        if not (args.records or args.no_database):
            _note_left_out(found, wanted, notes)
        return found
    if args.no_database:
        raise WrongArgumentsError("--no-database leaves no records to read. Add --records PATH.")
    return records_of_database(reader, wanted, notes)


def _note_left_out(found: PastRecords, wanted: RecordFilter, notes: Notes) -> None:
    """Note that Airflow's database has records of before the first file, which are not read."""
    with suppress(ConfigProvidersError):  # whatever else the audit asks the database about says so
        there = first_of_database(wanted)
        if there and (found.first is None or there < found.first):
            here = f"the first is of {printable(moment(found.first))} UTC" if found.first else "there is none"
            notes(
                f"Records are read from [config_providers] records_path, where {here}, and not from Airflow's "
                f"database, where the first is of {moment(there)} UTC. To read those, empty the setting for one "
                f"command: AIRFLOW__CONFIG_PROVIDERS__RECORDS_PATH= airflow config-providers audit ..."
            )


def _filter(args: Any) -> RecordFilter:
    with translating(ValueError, lambda _: _no_day(args.since)):
        return RecordFilter.of(args.since, args.dag)


def _no_day(text: str) -> WrongArgumentsError:
    return WrongArgumentsError(f"--since '{printable(text)}' is not a day. Write it as 2026-11-01.")


def known(args: Any, notes: Notes, what: str, read: Callable[[], Sequence[_Known]]) -> Sequence[_Known] | None:
    """
    Return what Airflow's database knows; None if it is not to be read or, with a note, if it cannot be.

    :param what: what is missing then, as the subject of a sentence
    """
    if args.no_database:
        return None
    try:
        return read()
    except ConfigProvidersError as error:
        problem = " ".join(error.problems)
    notes(f"{what} not known. {problem}")
    return None


def show_found(rows: Sequence[Row], output: str, *, nothing: str) -> None:
    """Print a row a line for programs, and a table for people."""
    if output == "json":
        sys.stdout.writelines(f"{json.dumps(row)}\n" for row in rows)
    else:
        show(rows, output, nothing=nothing)


@contextmanager
def writing_found(
    args: Any, rows: Sequence[Row], columns: Mapping[str, str], page: Callable[[], str]
) -> Iterator[None]:
    """
    Write the files that ``--output-parquet`` and ``--report`` name, after the block, which prints the findings.

    They come last because a disk can be full, and in any case because the reader of what is printed can stop early.

    :param columns: those of the Parquet file
    :raises ConfigException: one cannot be written
    """
    try:
        yield
    finally:
        if args.output_parquet:
            write_findings(args.output_parquet, rows, columns)
        if args.report:
            write_page(args.report, page())


def octets_progress(console: Console | None = None) -> AbstractContextManager[Tick]:
    """
    Yield a function that shows how many bytes were read: as a bar on a terminal, and elsewhere as a line now and then.

    :param console: where to show it; None for standard error
    """
    from rich.progress import DownloadColumn, TransferSpeedColumn  # noqa: PLC0415 - only a command that runs needs it

    return _shown((DownloadColumn(), TransferSpeedColumn()), console, data_size)


def files_progress(console: Console | None = None) -> AbstractContextManager[Tick]:
    """
    Yield a function that shows how many files of records were read, and that their findings are made afterwards.

    :param console: as for ``octets_progress``
    """
    from rich.progress import MofNCompleteColumn, TextColumn  # noqa: PLC0415 - as above

    return _shown((TextColumn("records"), MofNCompleteColumn(), _rate()), console, number, unit="records")


@contextmanager
def _shown(
    columns: tuple[ProgressColumn, ...], console: Console | None, counted: Counted, *, unit: str = ""
) -> Iterator[Tick]:
    from rich.console import Console  # noqa: PLC0415 - as above
    from rich.progress import BarColumn, Progress, TimeRemainingColumn  # noqa: PLC0415 - as above

    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield ProgressLines(console.file, counted, unit=unit)
        return
    all_columns = (BarColumn(), *columns, TimeRemainingColumn(elapsed_when_finished=True))
    with Progress(*all_columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)


def _rate() -> ProgressColumn:
    from rich.progress import ProgressColumn  # noqa: PLC0415 - as above
    from rich.text import Text  # noqa: PLC0415 - as above

    class Rate(ProgressColumn):
        """Shows how many are read in a second."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text(f"{speed:,.0f}/s" if speed else "", style="progress.data.speed")

    return Rate()


class ProgressLines:
    """
    Writes the progress of an audit, at most every ``EVERY`` seconds, so that a short audit writes nothing.

    :param out: where to write the lines
    :param counted: returns an amount of what is read
    :param unit: what is counted, if ``counted`` does not say it
    :param clock: returns seconds
    """

    def __init__(
        self, out: IO[str], counted: Counted, *, unit: str = "", clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._out = out
        self._counted = counted
        self._read = f"{unit} read".lstrip()
        self._clock = clock
        self._start = self._last = clock()
        self._first: tuple[float, int] | None = None  # when something was read first, which Spark's start precedes

    def __call__(self, done: int, total: int) -> None:
        """Take how much was read so far, and how much there is to read."""
        now = self._clock()
        if done and not self._first:
            self._first = (now, done)
        if now - self._last >= EVERY:
            self._last = now
            write_or_drop(self._out, f"{self._line(done, total, now)}\n")

    def _line(self, done: int, total: int, now: float) -> str:
        after = f"progress: after {timedelta(seconds=int(now - self._start))}"
        if done >= total:
            return f"{after}, {self._counted(done)} {self._read}"
        if not self._first:
            return f"{after}, nothing of {self._counted(total)} {self._read} yet"
        start, before = self._first
        rate = (done - before) / (now - start) if now > start else 0
        speed = f", {self._counted(rate)}/s, {timedelta(seconds=round((total - done) / rate))} left" if rate else ""
        return f"{after}, {self._counted(done)} of {self._counted(total)} {self._read}{speed}"


def data_size(amount: float) -> str:
    """Return an amount of bytes, such as ``1.5 GB``."""
    from rich.filesize import decimal  # noqa: PLC0415 - only a command that takes long needs it

    return decimal(int(amount))


def number(amount: float) -> str:
    """Return a number, such as ``1,500``."""
    return f"{amount:,.0f}"
