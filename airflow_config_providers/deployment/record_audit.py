"""The Spark job that reads the records of a deployment, for commands and for tasks, which have no database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from airflow_config_providers.core.data import HIDDEN
from airflow_config_providers.core.text import counted, printable
from airflow_config_providers.deployment.rows import is_secret
from airflow_config_providers.exceptions import ConfigException, ConfigProvidersError, ProviderUnavailableError
from airflow_config_providers.job.record_table import rows_of
from airflow_config_providers.spark.audit.records.past_records import (
    CONFIGS,
    PastRecords,
    RecordReader,
    restored,
    ticking,
)
from airflow_config_providers.spark.audit.session import NO_PATH, Tick, audit_session, telling_failures

_MOST_NAMED: Final = 20
"""How many files without a record are named."""


@contextmanager
def record_reader(
    parquet: str, master: str | None, configs: Mapping[str, str], tick: Tick | None = None
) -> Iterator[RecordReader]:
    """
    Yield what reads records, with a Spark session until the end of the block.

    :param parquet: the folder in which they are kept; empty to keep none
    :param master: Spark's master; None for the one of Spark's own defaults, or else this machine
    :param configs: configuration of the Spark job
    :param tick: is called now and then with the files that were read so far, and the files to read in all
    :raises ConfigException: Spark does not start, its executors lack this package, or the path does not exist
    :raises ProviderUnavailableError: Spark cannot read them
    """
    with (
        audit_session(master, {**CONFIGS, **configs}) as session,
        restored(session),
        telling_failures(_unreadable),
        ticking(session, tick) as progress,
    ):
        yield RecordReader(session, rows_of, parquet, progress=progress)


def problems_of(records: PastRecords, against: str = "") -> Iterator[str]:
    """
    Yield sentences about what could not be read, and about what is not there.

    :param against: the folder of the records, which each sentence names, if others are compared with them
    """
    if not against:
        return _problems(records, "audited")
    shown = HIDDEN if is_secret("path", against) else printable(against)  # an address can hold a password
    return (f"{shown}: {problem}" for problem in _problems(records, "compared"))


def _problems(records: PastRecords, done: str) -> Iterator[str]:
    if not records.count:
        yield f"No record was found, so nothing was {done}. Check the path of the records, the first day and the DAG."
    for file, problem in list(records.unread.items())[:_MOST_NAMED]:
        yield f"{printable(file)} has no record: {problem}"
    if records.unread_count > _MOST_NAMED:
        yield f"{records.unread_count} files have no record. Only {_MOST_NAMED} of them are named."
    if records.later_count:
        yield (
            f"A later version of airflow-config-providers wrote {counted(records.later_count, 'record')}. What this "
            f"version does not know of them is left out."
        )


def _unreadable(problem: str) -> ConfigProvidersError:
    if NO_PATH in problem:
        return ConfigException(
            "The folder of the records does not exist. Correct --records or --against, or those of an operator, "
            "or [config_providers] records_path; a path without a scheme, such as s3a://, is a folder of this machine."
        )
    return ProviderUnavailableError(
        f"The records could not be read by Spark ({problem}). Correct the path, and give Spark the classes and rights "
        f"that it needs for it with --conf. Executors need this package, too."
    )
