"""The runs of tasks in order of time, and the values of their configurations, as Spark sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from airflow_config_providers.core.sensitive import HIDDEN
from airflow_config_providers.lazy import pyspark
from airflow_config_providers.spark.audit import F

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

TASK: Final = ("dag", "task")
INSTANCE: Final = ("dag", "task", "map_index")

OUTCOMES: Final = "dag string, task string, run string, map_index int, has_failed boolean"
"""How task instances ended, for Spark."""

_LONGEST: Final = 200
"""The most characters of a value in a finding."""


def runs_of(records: DataFrame, outcomes: DataFrame | None) -> DataFrame:
    """
    Return a row for each run of a task instance, with what its last try had.

    ``n`` counts the runs of an instance by time, and ``total`` is how many it has. ``failed`` says that the try was
    refused, or that Airflow says that it failed; null if Airflow does not know how it ended. Tries without a
    configuration of their own are left out: those that only followed a job, and those that were refused before their
    layers were settled.

    :param outcomes: with the columns of ``OUTCOMES``; without them, only the refused tries have failed
    """
    of_run, of_instance = pyspark.sql.Window.partitionBy(*INSTANCE, "run"), pyspark.sql.Window.partitionBy(*INSTANCE)
    by_time, of_task = of_instance.orderBy("at", "run"), pyspark.sql.Window.partitionBy(*TASK)
    earlier = by_time.rowsBetween(pyspark.sql.Window.unboundedPreceding, -1)
    is_unsettled = (F.size("refusals") > 0) & (F.size("configs") == 0)
    settled = records.where(F.col("follows").isNull() & ~is_unsettled)
    numbered = settled.withColumn("number", F.row_number().over(of_run.orderBy(F.desc("try_number"))))
    last, failed = numbered.where(F.col("number") == 1), F.size("refusals") > 0
    if outcomes is not None:
        last, failed = last.join(outcomes, [*INSTANCE, "run"], "left"), failed | F.col("has_failed")
    runs = last.select(*INSTANCE, "run", "at", "configs", "versions", "bundle_folder", failed.alias("failed"))
    return runs.repartition(*TASK).select(
        "*",
        F.row_number().over(by_time).alias("n"),
        F.count("*").over(of_instance).alias("total"),
        F.lead("at").over(by_time).alias("next_at"),
        F.coalesce(~F.last("failed", ignorenulls=True).over(earlier), F.lit(False)).alias("was_good"),
        F.count_if("failed").over(of_task).alias("failed_total"),
        F.count_if(~F.col("failed")).over(of_task).alias("good_total"),
    )


def values_of(runs: DataFrame) -> DataFrame:
    """
    Return a row for each value of each key of each run; the winner has rank 0.

    ``place`` is the origin of a value without what changes while it stays where it is: the folder of a version of a DAG
    bundle, and its line or its version.
    """
    exploded = runs.withColumn("one", F.explode("configs")).drop("configs")
    of_all = unversioned(F.col("one.value"))
    in_bundle = F.when(of_all != F.col("one.value"), of_all).alias("in_bundle")
    place = F.regexp_replace(unversioned(F.col("one.origin")), "(:[0-9]+|, version [0-9]+)$", "").alias("place")
    given = F.struct("one.value", "one.source", "one.origin", in_bundle).alias("given")
    return exploded.select("*", "one.*", given, place).drop("one", "versions", "bundle_folder")


def unversioned(text: Column) -> Column:
    """Return a string of a record as it is in each version of its DAG bundle. It is for comparisons, and no path."""
    name = F.concat(F.lit("{bundle "), F.coalesce(F.col("versions")["bundle"], F.lit("")), F.lit("}"))
    return F.replace(text, F.coalesce("bundle_folder", F.lit("")), name)


def compared(given: Column) -> Column:
    """Return what a value is compared by: itself, or the same in each version of its DAG bundle."""
    return F.coalesce(given["in_bundle"], given["value"])


def shown(given: Column) -> Column:
    """Return a value and its layer for people; ``not set`` for null."""
    value = hidden_or(given["value"])
    cut = F.when(F.length(value) > _LONGEST, F.concat(F.left(value, F.lit(_LONGEST)), F.lit("..."))).otherwise(value)
    text = F.concat(F.lit("`"), cut, F.lit("` ("), given["source"], F.lit(", "), given["origin"], F.lit(")"))
    return F.when(given.isNull(), F.lit("not set")).otherwise(text)


def week(at: Column) -> Column:
    """Return the Monday of the week of a moment, both in ISO 8601."""
    return F.trunc(F.to_date(F.substring(at, 1, 10)), "week").cast("string")


def hidden_or(value: Column | str) -> Column:
    """Return a value; ``[hidden]`` for null, which is a plaintext secret."""
    return F.coalesce(value, F.lit(HIDDEN))


def minute(at: Column) -> Column:
    """Return a moment in ISO 8601 and UTC for people, to the minute."""
    return F.concat(F.translate(F.left(at, F.lit(16)), "T", " "), F.lit(" UTC"))


def layer(given: Column) -> Column:
    """Return the layer of a value; null without one."""
    return F.when(given.isNotNull(), F.concat(given["source"], F.lit(", "), given["origin"]))


def is_same(one: Column, other: Column) -> Column:
    """Return whether two values are the same and from the same kind of layer; what is hidden is not compared."""
    return compared(one).eqNullSafe(compared(other)) & one["source"].eqNullSafe(other["source"])
