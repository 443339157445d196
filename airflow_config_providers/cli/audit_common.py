"""What the audit commands share: the records that they read, and the files that they write."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from airflow_config_providers import settings
from airflow_config_providers.cli.arguments import pairs
from airflow_config_providers.cli.audit_progress import files_progress
from airflow_config_providers.cli.failing import Notes, WrongArgumentsError
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
from airflow_config_providers.exceptions import ConfigProvidersError
from airflow_config_providers.spark.audit.html_page import moment
from airflow_config_providers.spark.audit.records.past_records import PastRecords, RecordFilter, RecordReader
from airflow_config_providers.spark.audit.report_file import require_places, write_findings, write_page

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_Known = TypeVar("_Known")


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
