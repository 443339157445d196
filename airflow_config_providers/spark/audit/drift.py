"""How often the configuration of tasks changed from one run to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from airflow_config_providers.spark.audit.runs import TASK, week

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_MOST: Final = 1_000


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
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - its usual name; slow to import

    weeks = changes.groupBy(week(F.col("at")).alias("name")).count().orderBy("name").collect()
    by_week = [(row["name"], row["count"]) for row in weeks]
    tasks = runs.select(*TASK).distinct().count()
    return Drift(by_week, _ranked(changes, F.col("key")), _ranked(changes, F.col("dag")), runs.count(), tasks)


def _ranked(changes: DataFrame, name: Column) -> Ranking:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - as above

    counts = changes.groupBy(name.alias("name")).count()
    first = counts.orderBy(F.desc("count"), "name").limit(_MOST).collect()
    names = len(first) if len(first) < _MOST else counts.count()
    return Ranking([(row["name"], row["count"]) for row in first], names)
