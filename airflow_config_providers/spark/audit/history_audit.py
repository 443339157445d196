"""All findings about the history of the configuration."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.spark.audit import findings
from airflow_config_providers.spark.audit.findings import BEFORE_FAILURE, DOCUMENTS
from airflow_config_providers.spark.audit.persisted import persisted
from airflow_config_providers.spark.audit.runs import OUTCOMES, runs_of, values_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class KnownElsewhere:
    """
    What Airflow's database knows, and records do not.

    :param outcomes: how task instances ended: (DAG, task, run, map index, whether it failed); None if nobody says
    :param documents: the keys of dynamic configuration: (name of the source, DAG, task, key)
    """

    outcomes: Sequence[tuple[str, str, str, int, bool]] | None = None
    documents: Sequence[tuple[str, str, str, str]] = ()


@dataclass(frozen=True, slots=True)
class PastRuns:
    """
    The rows from which findings are made.

    :param there: what tasks have now in another environment; None if it is not compared
    """

    runs: DataFrame
    values: DataFrame
    changes: DataFrame
    current: DataFrame
    there: DataFrame | None
    documents: DataFrame

    def findings(self, kinds: Collection[str] = ()) -> list[dict[str, Any]]:
        """Return the findings of some kinds, or of all without one, by kind, DAG, task and key."""
        found = [frame for kind in kinds or KINDS if (frame := _FINDERS[kind](self)) is not None]
        if not found:
            return []
        rows = reduce(lambda one, other: one.union(other), found)
        return [row.asDict() for row in rows.orderBy("kind", "dag", "task", "key").collect()]


def _between_environments(history: PastRuns) -> DataFrame | None:
    return None if history.there is None else findings.between_environments(history.current, history.there)


_FINDERS: Final[Mapping[str, Callable[[PastRuns], DataFrame | None]]] = {
    "always-loses": lambda rows: findings.always_loses(rows.values),
    BEFORE_FAILURE: lambda rows: findings.before_failure(rows.runs, rows.changes),
    "between-dags": lambda rows: findings.between_dags(rows.current),
    "between-environments": _between_environments,
    "between-runs": lambda rows: findings.between_runs(rows.changes),
    "default-not-taken": lambda rows: findings.not_taken(rows.values),
    "only-in-failed": lambda rows: findings.only_in_failed(rows.values),
    "unused": lambda rows: findings.unused(rows.values, rows.documents),
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
    there = None if against is None else findings.now(values_of(runs_of(against, None)))
    outcomes = None if known.outcomes is None else session.createDataFrame(known.outcomes, OUTCOMES)
    documents = session.createDataFrame(known.documents, DOCUMENTS)
    with persisted(runs_of(records, outcomes)) as (runs,):
        values = values_of(runs)
        with persisted(findings.changes_of(values), findings.now(values)) as (changes, current):
            yield PastRuns(runs, values, changes, current, there, documents)
