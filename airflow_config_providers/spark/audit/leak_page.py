"""The result of a search for leaks as one page of HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from airflow_config_providers.core.text import how_many
from airflow_config_providers.spark.audit.html_page import page_of, paragraph, plots, section, table, verdict
from airflow_config_providers.spark.audit.plots import Bar, Plot, monday, ranking, weekly
from airflow_config_providers.spark.audit.report_file import write_page
from airflow_config_providers.spark.audit.sink import dag, sink

if TYPE_CHECKING:
    from airflow_config_providers.spark.audit.leak import Leak
    from airflow_config_providers.spark.audit.leak_audit import LeakReport


def write_report(path: str, report: LeakReport) -> None:
    """
    Write the page.

    :raises ConfigException: the file cannot be written
    """
    write_page(path, page(report))


def summary(report: LeakReport) -> str:
    """Return the result in one line."""
    accepted = f", and {report.accepted} that the baseline accepts" if report.accepted else ""
    files = how_many(report.files, "file") if report.files or not report.rows else ""
    rows = f"{how_many(report.rows, 'row')} of Airflow's database" if report.rows else ""
    what = " and ".join(filter(None, (files, rows)))
    size = f" with {how_many(report.octets, 'byte')}" if report.octets else ""
    read = f" ({report.read:,} read now)" if report.files else ""
    return f"{what}{size} searched{read}: {how_many(len(report.leaks), 'leak')}{accepted}."


def nothing_found(report: LeakReport) -> str:
    """Return what to say if there are no leaks."""
    return "Nothing found." if report.is_complete else "Nothing found so far."


def page(report: LeakReport) -> str:
    """Return the page, in which nothing that came from outside is markup."""
    return page_of(
        "Leaks of known values",
        (
            verdict(_verdict(report)),
            paragraph(summary(report)),
            plots(_plots(report.leaks)),
            _unread(report),
            _table(report.leaks),
        ),
    )


def _verdict(report: LeakReport) -> str:
    if report.leaks:
        return f"{how_many(len(report.leaks), 'leak')} in {how_many(len(_files(report.leaks)), 'file')}."
    return nothing_found(report)


def _files(leaks: Sequence[Leak]) -> set[str]:
    return {leak.file for leak in leaks}


def _plots(leaks: Sequence[Leak]) -> tuple[str, ...]:
    return (
        weekly(Plot("By week of the file", "leaks"), _bars(leaks, lambda leak: monday(leak.modified))),
        ranking(Plot("By kind of file", "leaks"), _bars(leaks, lambda leak: sink(leak.file))),
        ranking(Plot("By DAG", "leaks"), _bars(leaks, lambda leak: dag(leak.file) or "(no DAG in the path)")),
        ranking(Plot("By reference", "leaks"), _bars(leaks, lambda leak: leak.reference)),
        ranking(Plot("By encoding", "leaks"), _bars(leaks, lambda leak: leak.encoding)),
    )


def _bars(leaks: Sequence[Leak], name: Callable[[Leak], str]) -> list[Bar]:
    return [Bar(*one) for one in Counter(map(name, leaks)).most_common()]


def _unread(report: LeakReport) -> str:
    skipped = [(path, f"Skipped: {why}.") for path, why in sorted(report.skipped.items())]
    rows = [*sorted(report.unread.items()), *skipped]
    return section("Not read, or not wholly", table(("file", "why"), rows)) if rows else ""


def _table(leaks: Sequence[Leak]) -> str:
    if not leaks:
        return ""
    rows = [
        (one.file, sink(one.file), one.line, one.offset, one.reference, one.encoding, one.age, one.id) for one in leaks
    ]
    heads = ("file", "kind of file", "line", "offset", "reference", "encoding", "age", "id")
    return section("Leaks", table(heads, rows))
