"""The history of the configuration as one page of HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from airflow_config_providers.core.text import how_many
from airflow_config_providers.spark.audit.drift import Drift, Ranking
from airflow_config_providers.spark.audit.html_page import (
    MOST_ROWS,
    moment,
    page_of,
    paragraph,
    plots,
    section,
    table,
    verdict,
)
from airflow_config_providers.spark.audit.plots import Bar, Plot, ranking, weekly

_MEANINGS: Final[Mapping[str, str]] = {
    "before-failure": "What changed when a task began to fail the last time. Without a key, nothing changed.",
    "only-in-failed": "All failed runs of the task had this value, and none of the good ones.",
    "between-runs": "The key changed from one run of the task to the next. The detail has the last change.",
    "between-dags": "The task has another value than most tasks have, such as one that ignores a new default.",
    "between-environments": "The task has another value in the other environment, or is only in one of them.",
    "always-loses": "An override of the task lost in each of its runs.",
    "default-not-taken": "No task takes this default of a file or of the deployment.",
    "unused": "Dynamic configuration sets the key, and no run had it.",
}
"""The kinds of findings, the most urgent first, and what they are."""

_COLUMNS: Final = ("dag", "task", "key", "detail", "runs", "first", "last")
_HEADS: Final = (*_COLUMNS[:-2], "first (UTC)", "last (UTC)")


def page(findings: Sequence[Mapping[str, Any]], drift: Drift) -> str:
    """Return the page, in which nothing that came from outside is markup."""
    scope = f"{how_many(drift.runs, 'run')} of {how_many(drift.tasks, 'task')} with a record: "
    changes = f"{how_many(drift.changes, 'change')} of a key from one run of a task to the next."
    return page_of(
        "History of the configuration",
        (
            verdict(f"{how_many(len(findings), 'finding')}." if findings else "Nothing found."),
            paragraph(f"{scope}{changes}"),
            plots(_plots(findings, drift)),
            *_sections(findings),
        ),
    )


def _plots(findings: Iterable[Mapping[str, Any]], drift: Drift) -> Iterator[str]:
    yield weekly(Plot("Changes by week", "changes", is_bad=False), _bars(drift.by_week))
    yield _ranking("Keys that change most", drift.by_key)
    yield _ranking("DAGs whose configuration changes most", drift.by_dag)
    kinds = Counter(str(row["kind"]) for row in findings).most_common()
    yield ranking(Plot("Findings by kind", "findings", is_bad=False), _bars(kinds))


def _ranking(title: str, ranked: Ranking) -> str:
    return ranking(Plot(title, "changes", is_bad=False), _bars(ranked.counts), count=ranked.names)


def _bars(counts: Iterable[tuple[str, int]]) -> list[Bar]:
    return [Bar(*one) for one in counts]


def _sections(findings: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a table for each kind. No table is longer than what all of them may have together."""
    room = MOST_ROWS
    for kind, meaning in _MEANINGS.items():
        if rows := [row for row in findings if row["kind"] == kind]:
            shown = [_cells(row) for row in rows[: max(room, 1)]]
            yield section(kind, paragraph(meaning), table(_HEADS, shown, count=len(rows)))
            room -= len(shown)


def _cells(row: Mapping[str, Any]) -> list[object]:
    return [*(row[name] for name in _COLUMNS[:-2]), moment(row["first"]), moment(row["last"])]
