"""What policies would have stopped, as one page of HTML."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from airflow_config_providers.core.text import counted
from airflow_config_providers.spark.audit.html_page import moment, page_of, paragraph, plots, section, table, verdict
from airflow_config_providers.spark.audit.plots import Bar, Plot, percent, ranking, weekly
from airflow_config_providers.spark.audit.policy_audit import RunShare, StoppedRuns

_COLUMNS: Final = ("policy", "dag", "owner", "tasks", "runs")
_HEADS: Final = (*_COLUMNS, "first (UTC)", "last (UTC)", "reason")


def page(stopped: StoppedRuns, owners: Mapping[str, str]) -> str:
    """
    Return the page, in which nothing that came from outside is markup.

    :param owners: DAG -> owner; empty if they are not known
    """
    return page_of(
        "What the policies would have stopped",
        (
            verdict(_verdict(stopped)),
            paragraph(summary(stopped)),
            plots(_plots(stopped, owners)),
            _rows(stopped.rows_with(owners)),
            _unjudged(stopped),
        ),
    )


def _verdict(stopped: StoppedRuns) -> str:
    if stopped.runs:
        return f"{percent(stopped.runs, stopped.all_runs)} of all runs would have been stopped."
    return "No run would have been stopped."


def summary(stopped: StoppedRuns) -> str:
    """Return the result in one line."""
    return f"{stopped.runs} of {counted(stopped.all_runs, 'run')} would have been stopped."


def _plots(stopped: StoppedRuns, owners: Mapping[str, str]) -> Iterator[str]:
    yield weekly(Plot("Share of all runs, by week", "stopped"), map(_bar, stopped.by_week))
    policies = Counter[str]()
    for row in stopped.rows:
        policies[row["policy"]] += row["runs"]
    yield _ranking("By policy", [Bar(name, runs, stopped.all_runs) for name, runs in policies.items()])
    yield _ranking("By DAG", [_bar(one) for one in stopped.by_dag])
    if owners:
        yield _ranking("By owner", _by_owner(stopped.by_dag, owners))


def _ranking(title: str, bars: Sequence[Bar]) -> str:
    worst_first = sorted((bar for bar in bars if bar.count), key=lambda bar: (-bar.count, bar.label))
    return ranking(Plot(title, "stopped"), worst_first)


def _by_owner(by_dag: Sequence[RunShare], owners: Mapping[str, str]) -> list[Bar]:
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for one in by_dag:
        of = counts[owners.get(one.name) or "(unknown)"]
        of[0] += one.stopped
        of[1] += one.runs
    return [Bar(owner, stopped, runs) for owner, (stopped, runs) in counts.items()]


def _bar(share: RunShare) -> Bar:
    return Bar(share.name, share.stopped, share.runs)


def _rows(rows: Sequence[Mapping[str, Any]]) -> str:
    cells = [
        (*(row[name] for name in _COLUMNS), moment(row["first"]), moment(row["last"]), row["reason"]) for row in rows
    ]
    return section("What would have been stopped, and why", table(_HEADS, cells)) if rows else ""


def _unjudged(stopped: StoppedRuns) -> str:
    rows = sorted(stopped.unjudged.items())
    return section("Not judged", table(("record", "why"), rows)) if rows else ""
