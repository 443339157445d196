"""All findings about the history of the configuration, how often it changed, and the page of HTML about both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.core.text import how_many
from airflow_config_providers.lazy import cached_property
from airflow_config_providers.spark.audit import F
from airflow_config_providers.spark.audit import html_page as html
from airflow_config_providers.spark.audit.html_page import Bar, Plot, ranking, weekly
from airflow_config_providers.spark.audit.records import history_findings
from airflow_config_providers.spark.audit.records.history_findings import BEFORE_FAILURE, DOCUMENTS
from airflow_config_providers.spark.audit.records.past_records import persisted
from airflow_config_providers.spark.audit.records.runs import OUTCOMES, TASK, runs_of, values_of, week

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_MOST: Final = 1_000
"""The most names in a ranking; the others are counted."""

_AT_ONCE: Final = 4
"""How many kinds of findings are searched for at a time, so that executors that one leaves idle do others."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """
    How often each name occurs.

    :param counts: (name, how often), the most frequent first; only the first thousand, if there are more
    :param names: how many names there are
    """

    counts: Sequence[tuple[str, int]] = ()
    names: int = 0


@dataclass(frozen=True, slots=True)
class Drift:
    """
    Changes of keys from one run of a task to the next.

    :param by_week: (Monday in ISO 8601, changes)
    :param runs: how many runs there are
    :param tasks: how many tasks ran
    """

    by_week: Sequence[tuple[str, int]] = ()
    by_key: Ranking = Ranking()
    by_dag: Ranking = Ranking()
    runs: int = 0
    tasks: int = 0

    @property
    def changes(self) -> int:
        """How many changes there are."""
        return sum(count for _, count in self.by_week)


def drift_of(runs: DataFrame, changes: DataFrame) -> Drift:
    """
    Return how often keys changed.

    :param runs: as ``runs_of`` returns them
    :param changes: as ``changes_of`` returns them
    """
    weeks = changes.groupBy(week(F.col("at")).alias("name")).count().orderBy("name").collect()
    by_week = [(row["name"], row["count"]) for row in weeks]
    [(all_runs, tasks)] = runs.agg(F.count("*"), F.count_distinct(*TASK)).collect()
    return Drift(by_week, _ranked(changes, F.col("key")), _ranked(changes, F.col("dag")), all_runs, tasks)


def _ranked(changes: DataFrame, name: Column) -> Ranking:
    counts = changes.groupBy(name.alias("name")).count()
    first = counts.orderBy(F.desc("count"), "name").limit(_MOST).collect()
    names = len(first) if len(first) < _MOST else counts.count()
    return Ranking([(row["name"], row["count"]) for row in first], names)


@dataclass(frozen=True, slots=True)
class KnownElsewhere:
    """
    What Airflow's database knows, and records do not.

    :param outcomes: how task instances ended: (DAG, task, run, map index, whether it failed); None if it is not known
    :param documents: what dynamic configuration sets now: (name of the source, DAG, task, key, value, origin, who set
        it, when), as ``DOCUMENTS`` has it
    """

    outcomes: Sequence[tuple[str, str, str, int, bool]] | None = None
    documents: Sequence[tuple[str, str, str, str, str | None, str, str, str]] = ()


@dataclass(frozen=True)
class PastRuns:
    """
    The rows from which findings are made. What only some kinds need is planned when it is used first.

    :param there: what tasks have now in another environment; None if it is not compared
    :param until_end: ends what is kept with the audit
    """

    runs: DataFrame
    values: DataFrame
    there: DataFrame | None
    documents: DataFrame
    until_end: ExitStack = field(repr=False)

    @cached_property
    def changes(self) -> DataFrame:
        """Return the keys that changed from one run of a task instance to the next."""
        return self._kept(history_findings.changes_of(self.values))

    @cached_property
    def current(self) -> DataFrame:
        """Return what each task has now."""
        return self._kept(history_findings.now(self.values))

    @cached_property
    def overriding(self) -> DataFrame:
        """Return the tasks that have another value than a default."""
        return self._kept(history_findings.overriding_defaults(self.values))

    def _kept(self, rows: DataFrame) -> DataFrame:
        (kept,) = self.until_end.enter_context(persisted(rows))
        return kept

    def findings(self, kinds: Collection[str] = ()) -> list[dict[str, Any]]:
        """
        Return the findings of some kinds, or of all without one, by kind, DAG, task and key.

        Each kind is a query of its own: Spark would need longer to plan their union than to find anything in it.
        """
        frames = [frame for kind in kinds or KINDS if (frame := _FINDERS[kind](self)) is not None]
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            found = [row.asDict() for rows in threads.map(methodcaller("collect"), frames) for row in rows]
        return sorted(found, key=_place)


def _place(finding: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what findings are sorted by; what one does not have comes first."""
    return tuple(finding[column] or "" for column in ("kind", "dag", "task", "key"))


def _between_environments(history: PastRuns) -> DataFrame | None:
    return None if history.there is None else history_findings.between_environments(history.current, history.there)


_FINDERS: Final[Mapping[str, Callable[[PastRuns], DataFrame | None]]] = {
    "always-loses": lambda rows: history_findings.always_loses(rows.values),
    BEFORE_FAILURE: lambda rows: history_findings.before_failure(rows.runs, rows.changes),
    "between-dags": lambda rows: history_findings.between_dags(rows.current, rows.overriding),
    "between-environments": _between_environments,
    "between-runs": lambda rows: history_findings.between_runs(rows.changes),
    "default-not-taken": lambda rows: history_findings.not_taken(rows.values),
    "only-in-failed": lambda rows: history_findings.only_in_failed(rows.values),
    "overrides-default": lambda rows: history_findings.overrides_default(rows.overriding),
    "unused": lambda rows: history_findings.unused(rows.runs, rows.values, rows.documents),
}

KINDS: Final = tuple(_FINDERS)
"""The kinds of findings."""


@contextmanager
def history_of(
    session: SparkSession, records: DataFrame, known: KnownElsewhere, against: DataFrame | None = None
) -> Iterator[PastRuns]:
    """
    Yield the history of the configuration, until the end of the block.

    :param records: the records of this environment, as ``PastRecords`` has them
    :param against: the records of another environment; without them, environments are not compared
    """
    there = None if against is None else history_findings.now(values_of(runs_of(against, None)))
    outcomes = None if known.outcomes is None else session.createDataFrame(known.outcomes, OUTCOMES)
    documents = session.createDataFrame(known.documents, DOCUMENTS)
    with persisted(runs_of(records, outcomes)) as (runs,), ExitStack() as until_end:
        yield PastRuns(runs, values_of(runs), there=there, documents=documents, until_end=until_end)


_MEANINGS: Final[Mapping[str, str]] = {
    "before-failure": "What changed when a task began to fail the last time. Without a key, nothing changed.",
    "only-in-failed": "All failed runs of the task had this value, and none of the good ones.",
    "between-runs": "The key changed from one run of the task to the next. The detail has the last change.",
    "overrides-default": "The task has another value than a default of a file or of the deployment that others take.",
    "between-dags": "The task has another value than most tasks have, and this is no default that it overrides.",
    "between-environments": "The task has another value in the other environment, or is only in one of them.",
    "always-loses": "An override of the task lost in each of its runs.",
    "default-not-taken": "No task takes this default of a file or of the deployment.",
    "unused": "Dynamic configuration sets the key, and no run had it, although its DAG has run since.",
}
"""The kinds of findings, the most urgent first, and what they are."""

_COLUMNS: Final = ("dag", "task", "key", "detail", "runs", "first", "last")
_HEADS: Final = (*_COLUMNS[:-2], "first (UTC)", "last (UTC)")


WITHOUT_DATABASE: Final = (
    "Airflow's database was not read: runs that failed after they were submitted, who changed what, and unused keys "
    "are unknown."
)
"""What an audit does not know without it."""

UNKNOWN: Final = (
    f"{WITHOUT_DATABASE} So before-failure and only-in-failed know only of runs that were refused, and nothing is "
    f"found to be unused."
)
"""The note for a page, whose readers would otherwise think that there were no failures."""


def page(findings: Sequence[Mapping[str, Any]], drift: Drift, scope: html.AuditScope = html.NOT_KNOWN) -> str:
    """
    Return the page, in which nothing that came from outside is markup.

    :param scope: what was read
    """
    runs = f"{how_many(drift.runs, 'run')} of {how_many(drift.tasks, 'task')} with a record: "
    changes = f"{how_many(drift.changes, 'change')} of a key from one run of a task to the next."
    return html.page_of(
        "History of the configuration",
        html.verdict(f"{how_many(len(findings), 'finding')}." if findings else "Nothing found."),
        html.paragraph(f"{runs}{changes}"),
        scope.first(),
        html.plots(_plots(findings, drift)),
        scope.section(),
        *_sections(findings),
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
    room = html.MOST_ROWS
    for kind, meaning in _MEANINGS.items():
        if rows := [row for row in findings if row["kind"] == kind]:
            shown = [_cells(row) for row in rows[: max(room, 1)]]
            yield html.section(kind, html.paragraph(meaning), html.table(_HEADS, shown, count=len(rows)))
            room -= len(shown)


def _cells(row: Mapping[str, Any]) -> list[object]:
    shown = {**row, "detail": html.Quoted(row["detail"])}
    return [*(shown[name] for name in _COLUMNS[:-2]), html.moment(row["first"]), html.moment(row["last"])]
