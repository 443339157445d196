"""All findings about the history of the configuration."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
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

    :param outcomes: how task instances ended: (DAG, task, run, map index, whether it failed)
    :param documents: the keys of dynamic configuration: (name of the source, DAG, task, key)
    """

    outcomes: Sequence[tuple[str, str, str, int, bool]] = ()
    documents: Sequence[tuple[str, str, str, str]] = ()


@dataclass(frozen=True, slots=True)
class _FindingSources:
    """The rows from which findings are made."""

    runs: DataFrame
    values: DataFrame
    changes: DataFrame
    current: DataFrame
    there: DataFrame
    documents: DataFrame


_FINDERS: Final[Mapping[str, Callable[[_FindingSources], DataFrame]]] = {
    "always-loses": lambda rows: findings.always_loses(rows.values),
    BEFORE_FAILURE: lambda rows: findings.before_failure(rows.runs, rows.changes),
    "between-dags": lambda rows: findings.between_dags(rows.current),
    "between-environments": lambda rows: findings.between_environments(rows.current, rows.there),
    "between-runs": lambda rows: findings.between_runs(rows.changes),
    "default-not-taken": lambda rows: findings.not_taken(rows.values),
    "only-in-failed": lambda rows: findings.only_in_failed(rows.values),
    "unused": lambda rows: findings.unused(rows.values, rows.documents),
}

KINDS: Final = tuple(_FINDERS)
"""The kinds of findings."""


def history_findings(
    session: SparkSession,
    records: DataFrame,
    known: KnownElsewhere,
    against: DataFrame | None = None,
    *,
    kinds: Collection[str] = KINDS,
) -> list[dict[str, Any]]:
    """
    Return the findings of some kinds, by kind, DAG, task and key.

    :param records: the records of this environment, as ``PastRecords`` has them
    :param against: the records of another environment; without them, environments are not compared
    """
    wanted = [_FINDERS[kind] for kind in kinds if against is not None or kind != "between-environments"]
    if not wanted:
        return []
    no_outcomes = session.createDataFrame([], OUTCOMES)
    other = records.limit(0) if against is None else against
    documents = session.createDataFrame(known.documents, DOCUMENTS)
    with persisted(runs_of(records, session.createDataFrame(known.outcomes, OUTCOMES))) as (runs,):
        values = values_of(runs)
        there = findings.now(values_of(runs_of(other, no_outcomes)))
        with persisted(findings.changes_of(values), findings.now(values)) as (changes, current):
            found = [find(_FindingSources(runs, values, changes, current, there, documents)) for find in wanted]
            rows = reduce(lambda one, other: one.union(other), found)
            return [row.asDict() for row in rows.orderBy("kind", "dag", "task", "key").collect()]
