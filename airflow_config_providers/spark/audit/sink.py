"""The kinds of files in which values are found."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Final

_DATABASE: Final = re.compile(r"^database:([^.:]+)")
_DAG: Final = re.compile(r"(?:^|[/:])dag_id=([^/]+)")
"""The folder in which Airflow keeps the logs of a DAG, or the name of a row in its database."""

_RENDERED: Final = re.compile(r"rendered[-_]?(?:task[-_]?instance[-_]?)?(?:fields|template)", re.IGNORECASE)

_APPLICATION: Final = r"(?:application_\d+_\d+|app-\d+-\d+|local-\d+|spark-[0-9a-f]{32})"
"""What Spark and its cluster managers call an application."""

_EVENTS: Final = re.compile(
    rf"(?:^|/)(?:eventlog_v2_[^/]+/events_|{_APPLICATION}(?:_\w+)?(?:\.(?:lz4|lzf|snappy|zstd))?(?:\.inprogress)?$)"
)

_COMPONENT: Final = re.compile(r"(?:^|/)(scheduler|dag_processor|dag_processor_manager|triggerer)/")
"""A folder of the logs of a part of Airflow."""


def sink(path: str) -> str:
    """Return the kind of a file by its path."""
    if _RENDERED.search(path):
        return "rendered fields"
    if table := _DATABASE.match(path):
        return f"Airflow's database, {table[1]}"
    if _EVENTS.search(path):
        return "Spark event log"
    if _DAG.search(path):
        return "task log"
    if component := _COMPONENT.search(path):
        return f"log of Airflow, {component[1]}"
    return f"other, {''.join(PurePosixPath(path).suffixes[-2:]) or 'no extension'}"


def dag(path: str) -> str:
    """Return the DAG whose log a file is, by its path; empty if it is none."""
    found = _DAG.search(path)
    return found[1] if found else ""
