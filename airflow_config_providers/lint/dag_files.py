"""Reads DAG files in another process, with a time limit for each."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final

import msgspec

from airflow_config_providers.core.closed_on_exit import ClosedOnExit
from airflow_config_providers.core.closing import close_all
from airflow_config_providers.core.text import counted, printable
from airflow_config_providers.lint.dag_process import AirflowProcess, DagWorker
from airflow_config_providers.lint.entry import StoredJob, StoredTexts, WrittenEntry, WrittenJob
from airflow_config_providers.lint.finding import DAG_IMPORT, DAG_TIMEOUT, Finding, SourcePlace
from airflow_config_providers.lint.import_errors import import_error

Progress = Callable[[int], AbstractContextManager[Callable[[], None]]]
"""Shows how many of so many files are read."""

_TOO_LONG: Final = "Importing the DAG file took more than {}. Do less while it is imported, or raise --timeout."

_NOT_UNDERSTOOD: Final = (
    "The DAG file was imported, but what was found in it cannot be checked: {}. This is a defect of "
    "airflow-config-providers: report it, with this sentence and the type of the task."
)

_WORTH_A_PROCESS: Final = 400
"""The number of files that take as long as starting another process."""


@dataclass(frozen=True, slots=True)
class DagFile:
    """
    What a DAG file has in it, and why it could not be read.

    :param others: the strings with references of tasks that are no jobs; the origin of each is the class of the task
    :param stored: the jobs as Airflow stores them
    :param texts: the strings of all tasks as Airflow stores them
    """

    jobs: tuple[WrittenJob, ...] = ()
    findings: tuple[Finding, ...] = ()
    stored: tuple[StoredJob, ...] = ()
    texts: tuple[StoredTexts, ...] = ()
    others: tuple[WrittenEntry, ...] = ()

    def moved(self, before: Path, after: Path) -> DagFile:
        """Return the same with the paths that the file makes of its own below ``after``, and not below ``before``."""
        old, new = (json.dumps(str(folder))[1:-1] for folder in (before, after))
        stored = tuple(replace(job, text=job.text.replace(old, new)) for job in self.stored)
        return replace(self, stored=stored, texts=tuple(one.moved(str(before), str(after)) for one in self.texts))


@dataclass(frozen=True, slots=True)
class DagImports:
    """
    How DAG files are imported.

    :param roots: the folders from which DAG files import modules
    :param seconds: the longest time for one file
    :param is_stored: whether to read the jobs as Airflow stores them, and not as ``lint`` checks them
    :param dags_folder: the folder of the DAGs of the deployment; empty for the configured one
    """

    roots: Sequence[str]
    seconds: float
    is_stored: bool = False
    dags_folder: str = ""


def read_all(
    paths: Sequence[str],
    *,
    source: DagImports,
    origin: AirflowProcess,
    tick: Callable[[], object],
    files_per_process: int = _WORTH_A_PROCESS,
) -> Iterator[DagFile]:
    """
    Yield what is in each of the DAG files, in order.

    :param origin: the process whose copies import the files
    :param tick: is called after each file
    :param files_per_process: for as many files, another process is started, if there is a processor for it
    """
    count = min(len(os.sched_getaffinity(0)), 1 + len(paths) // files_per_process)
    readers = [DagReader(source, origin) for _ in range(count)]
    free: SimpleQueue[DagReader] = SimpleQueue()
    for reader in readers:
        free.put(reader)
    pool = ThreadPoolExecutor(len(readers))
    try:
        for found in pool.map(partial(_read_with, free), paths):
            yield found
            tick()
    finally:  # also if somebody interrupts it
        pool.shutdown(wait=False, cancel_futures=True)
        close_all(("a reader of DAG files", reader) for reader in readers)


def _read_with(free: SimpleQueue[DagReader], path: str) -> DagFile:
    reader = free.get()
    try:
        return reader.read(path)
    finally:
        free.put(reader)


class DagReader(ClosedOnExit):
    """
    Reads DAG files, one after the other. If a file hangs or ends the process, the next one gets a new process.

    A file that fails is read again in a new process: an earlier file could have closed a stream or moved elsewhere.

    :param origin: the process whose copies import the files
    """

    def __init__(self, source: DagImports, origin: AirflowProcess) -> None:
        self._source = source
        self._origin = origin
        self._worker: DagWorker | None = None
        self._is_closed = False

    def read(self, path: str) -> DagFile:
        """Return what is in the DAG file at ``path``."""
        is_new = self._worker is None
        found = self._read(path)
        if is_new or self._is_closed or not any(one.rule is DAG_IMPORT for one in found.findings):
            return found
        self._end()
        return self._read(path)

    def _read(self, path: str) -> DagFile:
        source = self._source
        worker = self._worker = self._worker or self._origin.copy()
        absolute = os.path.abspath(path)  # noqa: PTH100 - links stay as they are
        request = {
            "path": absolute,
            "name": path,
            "roots": list(source.roots),
            "is_stored": source.is_stored,
            "dags_folder": source.dags_folder,
        }
        try:
            found = worker.ask(request, source.seconds)
        except TimeoutError:
            rule, problem = DAG_TIMEOUT, _TOO_LONG.format(counted(source.seconds, "second"))
        except (OSError, EOFError, ValueError):
            rule, problem = DAG_IMPORT, "The DAG file ended the process that imported it."
        else:
            return _dag_file(path, absolute, found, is_stored=source.is_stored)
        self._end()
        return DagFile(findings=(Finding(rule, SourcePlace(path), problem),))

    def close(self) -> None:
        """End the process, with all that DAG files have started. A file that is being read is not read again."""
        self._is_closed = True
        self._end()

    def _end(self) -> None:
        worker, self._worker = self._worker, None  # ``close`` can come from another thread
        if worker is not None:
            worker.end()


def _dag_file(path: str, absolute: str, found: dict[str, Any], *, is_stored: bool) -> DagFile:
    errors = (import_error(absolute, trace) for trace in found["errors"])
    findings = tuple(replace(one, place=replace(one.place, path=path)) for one in errors)
    try:
        return _with_jobs(found, findings, is_stored=is_stored)
    except msgspec.ValidationError as error:
        problem = _NOT_UNDERSTOOD.format(printable(str(error)))
    return DagFile(findings=(*findings, Finding(DAG_IMPORT, SourcePlace(path), problem)))


def _with_jobs(found: dict[str, Any], findings: tuple[Finding, ...], *, is_stored: bool) -> DagFile:
    """
    Return what the process has found in a DAG file.

    :raises ValidationError: a value has another type; the message has the types and the place, but not the value
    """
    if is_stored:
        return DagFile(
            findings=findings,
            stored=msgspec.convert(found["jobs"], tuple[StoredJob, ...]),
            texts=msgspec.convert(found.get("texts", ()), tuple[StoredTexts, ...]),
        )
    return DagFile(
        msgspec.convert(found["jobs"], tuple[WrittenJob, ...]),
        findings,
        others=msgspec.convert(found.get("others", ()), tuple[WrittenEntry, ...]),
    )
