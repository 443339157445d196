"""Who used which reference, and how many values each had."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.spark.audit.persisted import persisted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OWNERS: Final = "dag string, owner string"


def reference_uses(
    session: SparkSession, records: DataFrame, owners: Sequence[tuple[str, str]] = ()
) -> list[dict[str, Any]]:
    """
    Return a row for each reference in records: its tasks, DAGs and owners, and the generations of its value.

    A generation is a value, told from others by its keyed hash. Hashes of different keys cannot be compared, so a new
    key is taken for no new value. ``older`` has the tasks whose last try had another value than the last of all tries.

    :param owners: (DAG, owner)
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - its usual name; slow to import

    used = records.select("dag", "task", "run", "at", "key_id", F.explode("references").alias("reference", "hash"))
    with persisted(used.join(F.broadcast(session.createDataFrame(owners, OWNERS)), "dag", "left")) as (uses,):
        return [row.asDict() for row in _by_reference(uses).orderBy("reference").collect()]


def reference_rows(uses: Sequence[Mapping[str, Any]], known: Sequence[str] = ()) -> list[dict[str, Any]]:
    """
    Return a row for each reference, with what is odd about it in ``finding``.

    :param uses: as ``reference_uses`` returns them
    :param known: references that are listed even if no record has them
    """
    used = {use["reference"] for use in uses}
    unread = [{"reference": one, "tasks": 0, "runs": 0} for one in known if one not in used]
    return [_row(use) for use in (*uses, *unread)]


def _row(use: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "reference": use["reference"],
        "finding": list(_findings(use)),
        "generations": use.get("generations"),
        "tasks": use["tasks"],
        "runs": use["runs"],
        "dags": use.get("dags", []),
        "owners": use.get("owners", []),
        "older": use.get("older") or [],
        "first": use.get("first"),
        "last": use.get("last"),
    }


def _findings(use: Mapping[str, Any]) -> Iterator[str]:
    if not use["runs"]:
        yield "unread"
    if len(use.get("dags", [])) > 1:
        yield "shared"
    if use.get("older"):
        yield "older values"


def _by_reference(uses: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - as above

    hashed = uses.where(F.col("hash").isNotNull()).withColumn("value", F.struct("key_id", "hash"))
    newest = hashed.groupBy("reference").agg(
        F.max_by("value", "at").alias("newest"),
        (F.count_distinct("key_id", "hash") - F.count_distinct("key_id") + 1).alias("generations"),
    )
    last = (
        hashed.groupBy("reference", "dag", "task").agg(F.max_by("value", "at").alias("had")).join(newest, "reference")
    )
    is_older = (F.col("had.key_id") == F.col("newest.key_id")) & (F.col("had.hash") != F.col("newest.hash"))
    older = last.where(is_older).groupBy("reference").agg(_set(F.concat_ws(".", "dag", "task"), "older"))
    found = uses.groupBy("reference").agg(
        F.count_distinct("dag", "task").alias("tasks"), _set("dag", "dags"), _set("owner", "owners"),
        F.count_distinct("dag", "task", "run").alias("runs"), F.min("at").alias("first"), F.max("at").alias("last"),
    )  # fmt: skip
    return found.join(newest.drop("newest"), "reference", "left").join(older, "reference", "left")


def _set(column: Any, name: str) -> Any:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - as above

    return F.sort_array(F.collect_set(column)).alias(name)
