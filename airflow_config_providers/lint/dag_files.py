"""Reads DAG files in another process, with a time limit for each."""

from __future__ import annotations

import json
import os
import re
import tokenize
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from io import StringIO
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final

import msgspec

import airflow_config_providers
from airflow_config_providers.core.closed_on_exit import ClosedOnExit
from airflow_config_providers.core.closing import close_all
from airflow_config_providers.core.sensitive import shows_secret
from airflow_config_providers.core.text import counted, one_line, printable
from airflow_config_providers.lint.dag_process import AirflowProcess, DagWorker
from airflow_config_providers.lint.entry import StoredJob, StoredTexts, WrittenEntry, WrittenJob
from airflow_config_providers.lint.finding import DAG_IMPORT, DAG_TIMEOUT, Finding, SourcePlace

_FRAME: Final = re.compile(r'^ +File "([^"\n]+)", line (\d+)(, in )?', re.MULTILINE)
_TYPE: Final = re.compile(r"^([A-Za-z_][\w.]*)(?:: (.*))?$", re.MULTILINE)

_OF_POLICY: Final = re.compile(r"^[\w.]*\bAirflowClusterPolicyError\b", re.MULTILINE)

_FROM_POLICY: Final = re.compile(r"^[\w.]*\bAirflowClusterPolicy(?:Error|Violation)\b", re.MULTILINE)
_CALLER: Final = f"{os.sep}pluggy{os.sep}"
"""A part of the path of the module that calls cluster policies."""

_WITH_PYTHON: Final = "run the file with Python"
_WITH_AIRFLOW: Final = "run 'airflow dags list-import-errors --local'"
"""How to see the message of an error; Python calls no cluster policy."""

_OURS: Final = "airflow_config_providers.exceptions."
_PACKAGE: Final = Path(airflow_config_providers.__file__).parent

_OF_COMPILER: Final = frozenset({"IndentationError", "SyntaxError", "TabError"})

_NAME: Final = r"'([\w.]+)'"
_OF_INTERPRETER: Final[Mapping[str, re.Pattern[str]]] = {
    "AttributeError": re.compile(rf"(?:partially initialized )?module {_NAME} has no attribute {_NAME}"),
    "ImportError": re.compile(rf"cannot import name {_NAME} from (?:partially initialized module )?{_NAME}"),
    "ModuleNotFoundError": re.compile(rf"No module named {_NAME}"),
    "NameError": re.compile(rf"name {_NAME} is not defined"),
    "TypeError": re.compile(rf"[\w.]+\(\) got an unexpected keyword argument {_NAME}"),
}
"""Type of an error -> what Python itself writes in the message, with names."""

_NOT_HERE: Final = (
    "it reads a {} that is not known here. Airflow's database is not read: for this command, set {}{} to any {}."
)
_VARIABLE: Final = (
    *("variable", "AIRFLOW_VAR_", "NAME, with the name of the variable in capitals,"),
    "string, or to JSON if it is read so",
)
_CONNECTION: Final = (
    *("connection", "AIRFLOW_CONN_", "ID, with the id of the connection in capitals,"),
    "URI, such as generic://x:x@x, with all that the file reads of it",
)
_MISSING: Final = {
    re.compile(r"^VARIABLE_NOT_FOUND\b|^'Variable .* does not exist"): _VARIABLE,
    re.compile(r"^CONNECTION_NOT_FOUND\b|^The conn_id .* isn't defined"): _CONNECTION,
}
"""What Airflow writes if it does not find something -> the parts of what is said in its place, without values."""

_MISSING_NAME: Final = re.compile(r"(?:Variable |The conn_id `)(\w+)(?: not found|`| does not exist)", re.ASCII)
"""Where Airflow has the name of what it does not find, if a shell can set a variable of that name."""


_READS: Final = re.compile(
    r"\b(Variable\.get|Connection\.get|get_connection(?:_from_secrets)?)"
    r"\(\s*+(['\"])(?P<name>\w++)\2\s*+(?:,\s*+deserialize_json=\w++\s*+)?,?\s*+\)",
    re.ASCII,
)
"""Where source code reads a variable or a connection, without a default, if a shell can set a variable of its name."""


def import_error(path: str, trace: str) -> Finding:
    """
    Return the finding for a DAG file that failed with the traceback ``trace``.

    The message of an error can quote a secret, whatever the type of the error is. It is shown only if Python or this
    package has written it, and Python's names are in the source code.
    """
    last = _own_traceback(trace)
    frames = list(_FRAME.finditer(last))
    lines = [int(frame[2]) for frame in frames if frame[1] == path and frame[2] != "0"]  # 0 of the whole file
    error = _TYPE.search(last, frames[-1].end() if frames else 0)
    kind, message = (error[1], error[2] or "") if error else ("an error", "")
    known = _without_values(kind, message, frames[-1]) if frames else ""
    said = _missing(path, message)
    policy = _policy(trace, frames)
    problem = f"The DAG file cannot be imported: {said}" if said else _sentence(kind, known, policy)
    return Finding(DAG_IMPORT, SourcePlace(path, lines[-1] if lines else None), problem)


def _missing(path: str, message: str) -> str:
    """
    Return what is said of what Airflow does not find.

    Its name is shown only if the file at ``path`` has it in quotes. What the file reads besides is named as well.
    """
    parts = next((parts for pattern, parts in _MISSING.items() if pattern.match(message)), None)
    if parts is None:
        return ""
    kind, prefix, any_name, content = parts
    source = _source(path)
    named = _MISSING_NAME.search(message)
    name = named[1].upper() if named and _quotes(source, named[1]) else any_name
    others = sorted(set(_defining(source)) - {f"{prefix}{name}", *os.environ})
    more = f" The file could need these as well: {', '.join(others)}." if others else ""
    return f"{_NOT_HERE.format(kind, prefix, name, content)}{more}"


def _quotes(source: str, name: str) -> bool:
    """Return whether source code has ``name`` in quotes, so that it is no value from elsewhere."""
    return f"'{name}'" in source or f'"{name}"' in source


def _defining(source: str) -> Iterator[str]:
    """Yield the environment variables that would define what source code reads of Airflow."""
    for found in _READS.finditer(source):
        prefix = "AIRFLOW_VAR_" if found[1] == "Variable.get" else "AIRFLOW_CONN_"
        yield f"{prefix}{found['name'].upper()}"


def _source(path: str | Path) -> str:
    """Return the text of a file of source code; empty if it cannot be read as such."""
    try:
        with tokenize.open(path) as file:
            return file.read()
    except (OSError, SyntaxError, UnicodeDecodeError):
        return ""


def _own_traceback(trace: str) -> str:
    """Return the last traceback; if Airflow raised that for an error of a cluster policy, the one of this error."""
    *_, cause, last = "", *trace.split("Traceback (most recent call last):")
    return cause if cause and _OF_POLICY.search(last) else last


def _policy(trace: str, frames: Sequence[re.Match[str]]) -> str:
    """
    Return the name and the place of another package's cluster policy that raised an error; empty if none did.

    :param frames: the lines of its traceback that name files
    """
    *_, last = trace.split("Traceback (most recent call last):")
    calls = [place for place, frame in enumerate(frames) if _CALLER in frame[1]]
    if not _FROM_POLICY.search(last) or not calls or calls[-1] + 1 == len(frames):  # a DAG file can raise it, too
        return ""
    called = frames[calls[-1] + 1]
    name = called.string[called.end() :].partition("\n")[0]
    return f"the cluster policy {printable(name)} ({printable(called[1])}:{called[2]})"


def _sentence(kind: str, message: str, policy: str) -> str:
    shown = printable(kind.removeprefix(_OURS))
    if message and not shows_secret(message):
        whole = one_line(message) if kind.startswith(_OURS) else printable(message)  # the way out is at the end of ours
        return f"The DAG file cannot be imported: {shown}: {whole}"
    raised = f"{policy} raised {shown.rpartition('.')[2]}" if policy else shown
    return (
        f"The DAG file cannot be imported: {raised}. Its message is not shown, because it could quote a secret: "
        f"{_WITH_AIRFLOW if policy else _WITH_PYTHON} to see it."
    )


def _without_values(kind: str, message: str, frame: re.Match[str]) -> str:
    """
    Return what can be shown of a message; empty if it can quote a value.

    :param frame: the last line of the traceback that names a file
    """
    path = Path(frame[1])
    if kind.startswith(_OURS):
        return message if path.is_relative_to(_PACKAGE) else ""
    if not os.path.isfile(path):  # noqa: PTH113 - code of a string, under a name for which a Path can raise an error
        return ""
    if kind in _OF_COMPILER:  # which is in no function, unlike an error that is raised
        return "" if frame[3] else message
    pattern = _OF_INTERPRETER.get(kind)
    found = pattern.match(message) if pattern else None
    names = {part for name in found.groups() for part in name.split(".")} if found else set()
    return found[0] if found and names <= _written_names(path) else ""


def _written_names(path: Path) -> set[str]:
    """Return the names in a file of source code, without its strings, and those of its modules; none if it is none."""
    if not (source := _source(path)):
        return set()
    try:
        tokens = list(tokenize.generate_tokens(StringIO(source).readline))
    except (SyntaxError, tokenize.TokenError):
        return set()
    return {token.string for token in tokens if token.type == tokenize.NAME} | {path.stem, *path.parts}


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
            return _dag_file(path, absolute, found)
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


def _dag_file(path: str, absolute: str, found: dict[str, Any]) -> DagFile:
    """Return what the process has found in a DAG file. No message has a value of it."""
    errors = (import_error(absolute, trace) for trace in found.pop("errors"))
    findings = tuple(replace(one, place=replace(one.place, path=path)) for one in errors)
    try:
        return replace(msgspec.convert(found, DagFile), findings=findings)
    except msgspec.ValidationError as error:  # which has types and places, but not the values
        problem = _NOT_UNDERSTOOD.format(printable(str(error)))
    return DagFile(findings=(*findings, Finding(DAG_IMPORT, SourcePlace(path), problem)))
