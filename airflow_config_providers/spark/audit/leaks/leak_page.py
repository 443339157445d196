"""The result of a search for leaks as one page of HTML, with the kinds of files in which values are found."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from airflow_config_providers.core.text import counted, how_many
from airflow_config_providers.spark.audit import html_page as html
from airflow_config_providers.spark.audit.html_page import Bar, Plot, monday, ranking, weekly
from airflow_config_providers.spark.audit.leaks.leak_finder import without_values

if TYPE_CHECKING:
    from airflow_config_providers.spark.audit.leaks.leak import Leak
    from airflow_config_providers.spark.audit.leaks.leak_report import LeakReport


def summary(report: LeakReport) -> str:
    """Return the result in one line."""
    accepted = f", and {report.accepted} that the baseline accepts" if report.accepted else ""
    files = how_many(report.files, "file") if report.files or not report.rows else ""
    rows = f"{how_many(report.rows, 'row')} of Airflow's database" if report.rows else ""
    what = " and ".join(filter(None, (files, rows)))
    size = f" with {how_many(report.octets, 'byte')}" if report.octets else ""
    read = f" ({report.read:,} read now)" if report.files else ""
    unread = f", {counted(report.unsearched, 'path')} could not be read" if report.unsearched else ""
    return f"{what}{size} searched{read}{unread}: {how_many(len(report.leaks), 'leak')}{accepted}.{_limit(report)}"


def _limit(report: LeakReport) -> str:
    """Return what was not searched for: a value that was rotated before the search is not found."""
    only_current = report.sought.secrets and not report.sought.fingerprints
    return " Only current values were searched for." if only_current else ""


def nothing_found(report: LeakReport) -> str:
    """Return what to say if there are no leaks."""
    return "Nothing found." if report.is_complete else "Nothing found so far."


def page(report: LeakReport, scope: html.AuditScope = html.NOT_KNOWN) -> str:
    """
    Return the page, in which nothing that came from outside is markup.

    :param scope: what was searched; values in it are shown as references
    """
    return html.page_of(
        "Leaks of known values",
        html.verdict(_verdict(report)),
        html.paragraph(summary(report)),
        html.plots(_plots(report.leaks)),
        _undated(report.leaks),
        scope.section(partial(without_values, find=report.sought.finder().find)),
        _unread(report),
        html.table_section("Without a copy", ("file", "why"), sorted(report.uncopied.items())),
        _table(report.leaks),
    )


def _verdict(report: LeakReport) -> str:
    if report.leaks:
        files = {leak.file for leak in report.leaks}
        return f"{how_many(len(report.leaks), 'leak')} in {how_many(len(files), 'file')}."
    return nothing_found(report)


def _plots(leaks: Sequence[Leak]) -> tuple[str, ...]:
    dated = [leak for leak in leaks if leak.modified]
    return (
        weekly(Plot("By week of the file or row", "leaks"), _bars(dated, lambda leak: monday(leak.modified))),
        ranking(Plot("By kind of file", "leaks"), _bars(leaks, lambda leak: sink(leak.file))),
        ranking(Plot("By DAG", "leaks"), _bars(leaks, lambda leak: dag(leak.file) or "(no DAG in the path)")),
        ranking(Plot("By reference", "leaks"), _bars(leaks, lambda leak: leak.reference)),
        ranking(Plot("By encoding", "leaks"), _bars(leaks, lambda leak: leak.encoding)),
    )


def _undated(leaks: Sequence[Leak]) -> str:
    count = sum(not leak.modified for leak in leaks)
    if not count:
        return ""
    return html.paragraph(f"{counted(count, 'leak')} in stores or tables that give no time: not in any week.")


def _bars(leaks: Sequence[Leak], name: Callable[[Leak], str]) -> list[Bar]:
    return [Bar(*one) for one in Counter(map(name, leaks)).most_common()]


def _unread(report: LeakReport) -> str:
    skipped = [(path, f"Skipped: {why}.") for path, why in sorted(report.skipped.items())]
    return html.table_section("Not read, or not wholly", ("file", "why"), [*sorted(report.unread.items()), *skipped])


def _table(leaks: Sequence[Leak]) -> str:
    heads = {
        "file": "file",
        "kind": "kind of file",
        **({"column": "column"} if any(one.column for one in leaks) else {}),
    }
    heads |= {name: name for name in ("line", "offset", "reference", "encoding", "age")}
    heads |= {"modified": "modified (UTC)", "id": "id"}
    rows = [{**one.row(), "kind": sink(one.file), "modified": html.moment(one.modified)} for one in leaks]
    return html.table_section("Leaks", list(heads.values()), [[row[name] for name in heads] for row in rows])


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
    if path.endswith(".parquet"):
        return "table in Parquet"
    return f"other, {''.join(PurePosixPath(path).suffixes[-2:]) or 'no extension'}"


def dag(path: str) -> str:
    """Return the DAG whose log a file is, by its path; empty if it is none."""
    found = _DAG.search(path)
    return found[1] if found else ""
