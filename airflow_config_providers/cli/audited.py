"""What the audit commands share: their progress, the records they read, and the files they write."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from airflow_config_providers import settings
from airflow_config_providers.cli.arguments import pairs
from airflow_config_providers.cli.failing import Notes, WrongArgumentsError
from airflow_config_providers.cli.output import show
from airflow_config_providers.cli.progress_lines import Counted, ProgressLines, data_size, number
from airflow_config_providers.core.text import printable
from airflow_config_providers.deployment.audit_scope import RecordsChoice
from airflow_config_providers.deployment.database_records import records_of_database
from airflow_config_providers.deployment.record_audit import RecordsJob, problems_of, record_reader
from airflow_config_providers.deployment.rows import Row
from airflow_config_providers.exceptions import ConfigProvidersError
from airflow_config_providers.spark.audit.records.past_records import PastRecords, RecordFilter, RecordReader
from airflow_config_providers.spark.audit.report_file import require_places, write_findings, write_page

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rich.console import Console
    from rich.progress import ProgressColumn, Task

Tick = Callable[[int, int], None]
"""Called with the amount that was read so far, and the amount that there is to read."""


@contextmanager
def octets_progress(console: Console | None = None) -> Iterator[Tick]:
    """
    Yield a function that shows how many bytes were read: as a bar on a terminal, and elsewhere as a line now and then.

    :param console: where to show it; None for standard error
    """
    from rich.progress import DownloadColumn, TransferSpeedColumn  # noqa: PLC0415 - only a command that runs needs it

    with _shown((DownloadColumn(), TransferSpeedColumn()), console, data_size) as tick:
        yield tick


@contextmanager
def files_progress(console: Console | None = None) -> Iterator[Tick]:
    """
    Yield a function that shows how many files of records were read, and that their findings are made afterwards.

    :param console: as for ``octets_progress``
    """
    from rich.progress import MofNCompleteColumn, TextColumn  # noqa: PLC0415 - as above

    with _shown((TextColumn("records"), MofNCompleteColumn(), _rate()), console, number, unit="records") as tick:
        yield tick


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


_Known = TypeVar("_Known")

FOUND: Final = 1
"""The exit code of an audit that found something."""

INCOMPLETE: Final = 2
"""The exit code of an audit that could not read everything."""


@dataclass(frozen=True, slots=True)
class Audited:
    """The records that a command is about, on Spark."""

    session: SparkSession
    records: PastRecords
    choice: RecordsChoice
    read: Callable[[str], PastRecords]
    """Returns the records in the files below another path."""


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
    :raises ConfigException: there is no such folder, or what is found could not be written
    :raises ProviderUnavailableError: Spark or the database cannot read them
    """
    wanted = _filter(args)
    require_places(args.report, args.output_parquet)
    job = RecordsJob(args.parquet or "", args.master, spark_configs(args))
    with files_progress() as tick, record_reader(job, tick) as reader:
        records = _records(args, reader, wanted, notes)
        for problem in problems_of(records):
            notes(problem)
        choice = RecordsChoice(_path(args), args.parquet, args.since, args.dag)
        yield Audited(reader.session, records, choice, lambda path: reader.of_files(path, wanted))


def _path(args: Any) -> str:
    """Return the folder of the records; empty for those in Airflow's database."""
    return args.records or settings.records_path() or ""


def _records(args: Any, reader: RecordReader, wanted: RecordFilter, notes: Notes) -> PastRecords:
    """Return the records of ``--records``, of the deployment's own path or, without one, of Airflow's database."""
    if path := _path(args):
        return reader.of_files(path, wanted)
    if args.no_database:
        raise WrongArgumentsError("--no-database leaves no records to read. Add --records PATH.")
    return records_of_database(reader, wanted, notes)


def _filter(args: Any) -> RecordFilter:
    try:
        return RecordFilter.of(args.since, args.dag)
    except ValueError:
        problem = printable(args.since)
    raise WrongArgumentsError(f"--since '{problem}' is not a day. Write it as 2026-11-01.")


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


def write_found(args: Any, rows: Sequence[Row], columns: Mapping[str, str], page: Callable[[], str]) -> None:
    """
    Write the files that ``--output-parquet`` and ``--report`` name.

    :param columns: those of the Parquet file
    :raises ConfigException: one cannot be written
    """
    if args.output_parquet:
        write_findings(args.output_parquet, rows, columns)
    if args.report:
        write_page(args.report, page())
