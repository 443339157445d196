"""Which past runs policies would have stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.spark.audit.persisted import persisted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Verdict(NamedTuple):
    """
    A policy that would have stopped a run, or a problem.

    :param reason: why the policy denies it
    :param problem: why the policies could not be asked: about a record or, without a file, about anything
    """

    policy: str = ""
    dag: str = ""
    task: str = ""
    run: str = ""
    at: str = ""
    file: str = ""
    reason: str = ""
    problem: str = ""


_VERDICT: Final = ", ".join(f"{name} string" for name in Verdict.__annotations__)


@dataclass(frozen=True, slots=True)
class StoppedRuns:
    """
    The result of an audit with policies.

    :param rows: for each policy and DAG, the runs that it would have stopped
    :param runs: how many runs would have been stopped
    :param unjudged: file of a record -> why the policies could not be asked about it
    """

    rows: list[dict[str, Any]]
    runs: int
    unjudged: Mapping[str, str] = field(default_factory=dict)


def stopped_runs(
    session: SparkSession, records: DataFrame, judge: Callable[[Iterable[Any]], Iterator[Verdict]]
) -> StoppedRuns:
    """
    Return the runs that policies would have stopped. A try that only followed a job is left out.

    :param judge: returns the verdicts on records; it runs in executors
    :raises ConfigException: the policies cannot be opened there
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - its usual name; slow to import

    asked = records.where(F.col("follows").isNull()).rdd.mapPartitions(judge)
    with persisted(session.createDataFrame(asked, _VERDICT, verifySchema=False)) as (verdicts,):
        return _stopped(verdicts)


def _stopped(verdicts: DataFrame) -> StoppedRuns:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - as above

    problems = verdicts.where(F.col("problem") != "").select("file", "problem").distinct().collect()
    if unopened := sorted({row.problem for row in problems if not row.file}):
        raise ConfigException(*unopened)
    denied = verdicts.where(F.col("problem") == "")
    by_policy = denied.groupBy("policy", "dag").agg(
        F.sort_array(F.collect_set("task")).alias("tasks"), F.count_distinct("task", "run").alias("runs"),
        F.min("at").alias("first"), F.max("at").alias("last"), F.max_by("reason", "at").alias("reason"),
    )  # fmt: skip
    rows = [row.asDict() for row in by_policy.orderBy("policy", "dag").collect()]
    runs = denied.select("dag", "task", "run").distinct().count()
    return StoppedRuns(rows, runs, {row.file: row.problem for row in problems})
