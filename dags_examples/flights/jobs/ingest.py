"""
Turn the raw CSV files into Parquet, and account for every row.

Settings: ``spark.flights.raw.dir``, ``spark.flights.lake.dir``, ``spark.flights.quality.max.reject.ratio``.

A row that breaks a rule goes to the table ``rejects`` with the names of the rules it breaks. The job fails when a data
set loses a larger share of its rows than the limit allows, or if kept and rejected rows are not all the rows read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from flights_common import Settings, progress, session
from flights_datasets import DATASETS, Dataset
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as fn

CORRUPT = "_corrupt_record"
BROKEN_RULES = "broken_rules"
QUALITY_SCHEMA = "dataset STRING, read LONG, accepted LONG, rejected LONG, by_rule MAP<STRING, LONG>"


class QualityError(RuntimeError):
    """A data set is worse than its limit allows, or rows were lost."""


@dataclass(frozen=True, slots=True)
class Quality:
    """How many rows of a data set were read, kept and rejected, and by which rule. A row can break several rules."""

    dataset: str
    read: int
    accepted: int
    rejected: int
    by_rule: Mapping[str, int]

    @property
    def reject_ratio(self) -> float:
        """The share of rejected rows; 0 for an empty file."""
        return self.rejected / self.read if self.read else 0.0

    def enforce(self, *, max_reject_ratio: float) -> None:
        """Raise an error if rows are missing, or too many were rejected."""
        if self.accepted + self.rejected != self.read:
            raise QualityError(f"{self.dataset}: {self.read} read, {self.accepted} kept, {self.rejected} rejected.")
        if self.reject_ratio > max_reject_ratio:
            raise QualityError(
                f"{self.dataset}: {self.reject_ratio:.3%} of the rows were rejected, "
                f"spark.flights.quality.max.reject.ratio allows {max_reject_ratio:.3%}. By rule: {dict(self.by_rule)}."
            )


def read_raw(spark: SparkSession, dataset: Dataset, *, folder: str) -> DataFrame:
    """Return a CSV file with its schema; a line that does not match is kept whole in a separate column."""
    return (
        spark.read.schema(f"{dataset.schema}, {CORRUPT} STRING")
        .options(header=True, nullValue="NA", mode="PERMISSIVE", columnNameOfCorruptRecord=CORRUPT)
        .csv(f"{folder}/{dataset.name}.csv")
    )


def check(rows: DataFrame, dataset: Dataset, *, carriers: frozenset[str] = frozenset()) -> DataFrame:
    """Return rows with the rules that each breaks. If several rows have the same key, one is valid, the others not."""
    has_key = fn.lit(True)
    for name in dataset.key:
        has_key &= fn.col(name).isNotNull()
    copy = fn.row_number().over(Window.partitionBy(*dataset.key).orderBy(*rows.columns))
    rules = {
        "malformed_line": fn.col(CORRUPT).isNotNull(),
        "missing_key": ~has_key,
        "duplicate": has_key & (copy > 1),
        **dataset.rules(carriers),
    }
    # A rule about a missing value is neither true nor false, so it is not broken.
    broken = fn.array(*(fn.when(is_broken, fn.lit(name)) for name, is_broken in rules.items()))
    return rows.withColumn(BROKEN_RULES, fn.array_compact(broken))


def accepted(checked: DataFrame) -> DataFrame:
    """Return the rows that break no rule, with the columns of their schema."""
    return checked.where(fn.size(BROKEN_RULES) == 0).drop(CORRUPT, BROKEN_RULES)


def rejected(checked: DataFrame) -> DataFrame:
    """Return the other rows in a form for all data sets: the rules that they break, and the row as text."""
    row = fn.to_json(fn.struct(*(name for name in checked.columns if name not in {CORRUPT, BROKEN_RULES})))
    record = fn.coalesce(CORRUPT, row).alias("record")
    return checked.where(fn.size(BROKEN_RULES) > 0).select(BROKEN_RULES, record)


def count_by_rule(rejects: DataFrame) -> dict[str, int]:
    """Return rule -> number of rejected rows."""
    counted = rejects.select(fn.explode(BROKEN_RULES).alias("rule")).groupBy("rule").count()
    return {row["rule"]: row["count"] for row in counted.orderBy("rule").collect()}


def write(rows: DataFrame, dataset: Dataset, *, place: str) -> None:
    """Write a table with one file for each partition."""
    gathered = rows.repartition(*dataset.partitions) if dataset.partitions else rows.coalesce(1)
    gathered.write.mode("overwrite").partitionBy(*dataset.partitions).parquet(place)


def ingest(spark: SparkSession, dataset: Dataset, *, settings: Settings) -> Quality:
    """Write one data set and its rejects, and return the counts of both tables."""
    place, rejects_place = settings.table(dataset.name), settings.table(f"rejects/dataset={dataset.name}")
    carriers = known_carriers(spark, settings) if dataset.name == "flights" else frozenset()
    checked = check(read_raw(spark, dataset, folder=settings.text("raw.dir")), dataset, carriers=carriers).cache()
    write(accepted(checked), dataset, place=place)
    rejected(checked).coalesce(1).write.mode("overwrite").parquet(rejects_place)

    rejects = spark.read.parquet(rejects_place)
    quality = Quality(
        dataset=dataset.name,
        read=checked.count(),
        accepted=spark.read.parquet(place).count(),
        rejected=rejects.count(),
        by_rule=count_by_rule(rejects),
    )
    checked.unpersist()
    return quality


def known_carriers(spark: SparkSession, settings: Settings) -> frozenset[str]:
    """Return the codes of the airlines, which are ingested first."""
    return frozenset(row["carrier"] for row in spark.read.parquet(settings.table("airlines")).collect())


def main() -> None:
    """Ingest every data set, and write the account before checking it, so that it also exists if the job fails."""
    spark = session()
    settings = Settings(spark.conf)
    limit = settings.number("quality.max.reject.ratio")
    account = []
    for dataset in DATASETS:
        quality = ingest(spark, dataset, settings=settings)
        account.append(quality)
        counts = f"{quality.read:,} read, {quality.accepted:,} kept, {quality.rejected:,} rejected"
        progress(f"{quality.dataset}: {counts} {quality.by_rule or ''}")
    rows = spark.createDataFrame([asdict(quality) for quality in account], QUALITY_SCHEMA)
    rows.coalesce(1).write.mode("overwrite").json(settings.table("quality"))
    for quality in account:
        quality.enforce(max_reject_ratio=limit)


if __name__ == "__main__":
    main()
