"""Who uses which reference, as one page of HTML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from airflow_config_providers.core.text import how_many
from airflow_config_providers.spark.audit.html_page import (
    moment,
    page_of,
    paragraph,
    plots,
    section,
    table,
    verdict,
)
from airflow_config_providers.spark.audit.plots import Bar, Plot, ranking

_COLUMNS: Final = ("reference", "finding", "generations", "tasks", "runs", "dags", "owners", "older")
_HEADS: Final = (*_COLUMNS, "first (UTC)", "last (UTC)")


def page(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the page, in which nothing that came from outside is markup."""
    return page_of(
        "Who uses which reference",
        (
            verdict(_verdict(rows)),
            paragraph(_counts(rows)),
            plots(_plots(rows)),
            section("References", table(_HEADS, list(map(_cells, rows)))) if rows else "",
        ),
    )


def _cells(row: Mapping[str, Any]) -> tuple[object, ...]:
    return (*(row[name] for name in _COLUMNS), moment(row["first"]), moment(row["last"]))


def _verdict(rows: Sequence[Mapping[str, Any]]) -> str:
    older = sum(bool(row["older"]) for row in rows)
    if older:
        return f"{how_many(older, 'reference')} with a task that last had an older value."
    return "No task is known to have an older value."


def _counts(rows: Sequence[Mapping[str, Any]]) -> str:
    shared = sum(len(row["dags"]) > 1 for row in rows)
    unread = sum(not row["runs"] for row in rows)
    return f"{how_many(len(rows), 'reference')}: {shared:,} shared by several DAGs, {unread:,} read by no run."


def _plots(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield _ranking("Tasks that had an older value", "tasks", rows, "older", is_bad=True)
    yield _ranking("Tasks that use it", "tasks", rows, "tasks")
    yield _ranking("DAGs that share it", "DAGs", rows, "dags", least=2)
    yield _ranking("Owners that share it", "owners", rows, "owners", least=2)
    yield _ranking("Generations of its value", "generations", rows, "generations", least=2)


def _ranking(  # noqa: PLR0913 - the column, and how it is shown
    title: str, of: str, rows: Sequence[Mapping[str, Any]], column: str, *, least: int = 1, is_bad: bool = False
) -> str:
    counts = [(_size(row[column]), str(row["reference"])) for row in rows]
    most_first = sorted((one for one in counts if one[0] >= least), key=lambda one: (-one[0], one[1]))
    return ranking(Plot(title, of, is_bad), [Bar(reference, count) for count, reference in most_first])


def _size(cell: object) -> int:
    return len(cell) if isinstance(cell, Sequence) else int(str(cell or 0))
