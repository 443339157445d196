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
from airflow_config_providers.core.concurrency.timed_calls import call_each
from airflow_config_providers.lazy import sa

SECONDS: Final = "AIRFLOW_CONFIG_PROVIDERS_COMPLETION_SECONDS"
"""The environment variable with the time limit for the database, in seconds."""

_DEFAULT_SECONDS: Final = 3.0
"""The time limit if the variable is not set."""

MOST: Final = 200
"""The most names of DAGs or runs."""

Find = Callable[..., list[str]]
"""Returns names in the database, given its session and the beginnings of names."""


def dags(prefix: str, parsed_args: Any, **_: object) -> list[str]:
    """Return the ids of DAGs that begin with ``prefix``."""
    return _of_database(_dag_ids, parsed_args, prefix)


def tasks(prefix: str, parsed_args: Any, **_: object) -> list[str]:
    """Return the ids of the tasks of the DAG on the command line that begin with ``prefix``."""
    return _of_dag(_task_ids, parsed_args, prefix)


def runs(prefix: str, parsed_args: Any, **_: object) -> list[str]:
    """Return the ids of the runs of the DAG on the command line that begin with ``prefix``, the last one first."""
    return _of_dag(_run_ids, parsed_args, prefix)


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


def _of_dag(find: Find, parsed_args: Any, prefix: str) -> list[str]:
    dag_id = getattr(parsed_args, "dag", None)
    return _of_database(find, parsed_args, dag_id, prefix) if dag_id else []


def _of_database(find: Find, parsed_args: Any, *words: str) -> list[str]:
    """Return the names that ``find`` returns; none for a server, which has names of its own."""
    if getattr(parsed_args, "server", None) or os.environ.get(SERVER):
        return []
    from airflow.models import dagrun, serialized_dag  # noqa: F401, PLC0415 - slow, which the time limit does not count

    from airflow_config_providers.deployment.records import reading  # noqa: PLC0415 - as above

    return bounded(lambda: reading(lambda session: list(find(session, *words))), _seconds())


def _dag_ids(session: Any, prefix: str) -> list[str]:
    from airflow.models.serialized_dag import SerializedDagModel  # noqa: PLC0415 - slow to import

    name = SerializedDagModel.dag_id
    found = sa.select(name).where(name.startswith(prefix, autoescape=True)).distinct().order_by(name)
    return [str(one) for one in session.scalars(found.limit(MOST))]


def _task_ids(session: Any, dag_id: str, prefix: str) -> list[str]:
    """Return the ids of the tasks of a stored DAG, in order; none if there is no such DAG."""
    from airflow.models.serialized_dag import SerializedDagModel  # noqa: PLC0415 - slow to import

    dag = SerializedDagModel.get_dag(dag_id, session=session)
    return sorted(one for one in (dag.task_ids if dag else ()) if one.startswith(prefix))


def _run_ids(session: Any, dag_id: str, prefix: str) -> list[str]:
    """Return the ids of the runs of a DAG, the last one first."""
    from airflow.models.dagrun import DagRun  # noqa: PLC0415 - slow to import

    found = sa.select(DagRun.run_id).where(DagRun.dag_id == dag_id, DagRun.run_id.startswith(prefix, autoescape=True))
    return [str(one) for one in session.scalars(found.order_by(DagRun.id.desc()).limit(MOST))]


def _seconds() -> float:
    try:
        return min(float(os.environ.get(SECONDS, _DEFAULT_SECONDS)), TIMEOUT_MAX)
    except ValueError:
        return _DEFAULT_SECONDS
