"""
What a shell proposes when people press the tab key, through argcomplete.

A shell that waits, or an error among its proposals, is worse than no proposals: there is a time limit, and errors are
not shown.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from threading import TIMEOUT_MAX
from typing import Any, Final

from airflow_config_providers.cli.target import NOW, SERVER
from airflow_config_providers.core.workers import call_each

SECONDS: Final = "AIRFLOW_CONFIG_PROVIDERS_COMPLETION_SECONDS"
"""The environment variable with the time limit for the database, in seconds."""

_DEFAULT_SECONDS: Final = 3.0


def dags(prefix: str, parsed_args: Any, **_: object) -> list[str]:
    """Return the ids of DAGs that begin with ``prefix``."""
    return _of_database("dag_ids", parsed_args, prefix)


def tasks(prefix: str, parsed_args: Any, **_: object) -> list[str]:
    """Return the ids of the tasks of the DAG on the command line that begin with ``prefix``."""
    return _of_dag("task_ids", parsed_args, prefix)


def runs(prefix: str, parsed_args: Any, **_: object) -> list[str]:
    """Return the ids of the runs of the DAG on the command line that begin with ``prefix``, the last one first."""
    return _of_dag("run_ids", parsed_args, prefix)


def sides(prefix: str, parsed_args: Any, **_: object) -> list[str]:
    """Return what can be compared and begins with ``prefix``: ``now``, and the runs."""
    return [*([NOW] if NOW.startswith(prefix) else []), *runs(prefix, parsed_args)]


def keys(prefix: str, **_: object) -> list[str]:
    """Return the documented keys of Spark that begin with ``prefix``."""
    from airflow_config_providers.spark.catalogue_file import catalogued, rows  # noqa: PLC0415 - reads a file

    return [name for name in rows(catalogued(None)).public if name.startswith(prefix)]


def bounded(find: Callable[[], Iterable[str]], seconds: float = _DEFAULT_SECONDS) -> list[str]:
    """Return the names that ``find`` returns and that a terminal can show; none if it fails or takes too long."""
    search = {"": lambda: [name for name in find() if name.isprintable()]}
    return call_each(search, patience=seconds)[""].value or []  # argcomplete ends the process without waiting for it


def _of_dag(kind: str, parsed_args: Any, prefix: str) -> list[str]:
    dag_id = getattr(parsed_args, "dag", None)
    return _of_database(kind, parsed_args, dag_id, prefix) if dag_id else []


def _of_database(kind: str, parsed_args: Any, *words: str) -> list[str]:
    """Return the names that a function of ``names`` returns; none for a server, which has names of its own."""
    if getattr(parsed_args, "server", None) or os.environ.get(SERVER):
        return []
    from airflow_config_providers.deployment import names  # noqa: PLC0415 - slow, which the time limit does not count
    from airflow_config_providers.deployment.records import reading  # noqa: PLC0415 - as above

    find = getattr(names, kind)
    return bounded(lambda: reading(lambda session: list(find(session, *words))), _seconds())


def _seconds() -> float:
    try:
        return min(float(os.environ.get(SECONDS, _DEFAULT_SECONDS)), TIMEOUT_MAX)
    except ValueError:
        return _DEFAULT_SECONDS
