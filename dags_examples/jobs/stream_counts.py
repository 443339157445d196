"""
Write the counts that arrive as JSON files to PostgreSQL, each of them once.

Settings: ``spark.counts.source`` and ``spark.counts.checkpoint`` (directories), ``spark.counts.stop`` (a file that ends
the job when it exists), ``spark.counts.db.dsn`` and ``spark.counts.db.password``.

Each batch opens a connection of its own. While the database refuses the password, because it is being rotated, the
batch waits: in this job for the restart with the new one, in ``stream_counts_driver.py`` for the new one itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg2
from psycopg2.extras import execute_values
from pyspark.sql import SparkSession

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PATIENCE = 600
"""Seconds for which a batch waits for a password that the database accepts."""

NO_QUERY = (
    "The id of the streaming query is not known in its batch, as with PYSPARK_PIN_THREAD=false. "
    "Remove PYSPARK_PIN_THREAD from the environment of the driver, and start the job again."
)

Current = Callable[[], Mapping[str, str]]
"""Returns the configuration as it is now."""


def connect(current: Current) -> Any:
    """Connect to the database, as soon as it accepts the password."""
    end = time.monotonic() + PATIENCE
    while True:
        configs = current()
        try:
            return psycopg2.connect(configs["spark.counts.db.dsn"], password=configs["spark.counts.db.password"])
        except psycopg2.OperationalError:
            if time.monotonic() > end:
                raise
        print("the database refuses the password; it is tried again", flush=True)
        time.sleep(1)


def query_of(batch: DataFrame) -> str:
    """
    Return the id of the query that made a batch.

    The checkpoint keeps it, so it stays the same after a restart, but not in a new checkpoint at the same path.

    :raises RuntimeError: Spark does not tell; all queries would share one id, and lose each other's batches
    """
    found: str | None = batch.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
    if not found:
        raise RuntimeError(NO_QUERY)
    return found


def write(batch: DataFrame, number: int, *, query: str, current: Current) -> None:
    """
    Insert a batch, and its number in the same transaction, so that a batch that is repeated changes nothing.

    Each query numbers its batches from 0.
    """
    rows = [(row["airport"], row["flights"]) for row in batch.collect()]
    key = (query, number)
    connection = connect(current)
    try:
        with connection, connection.cursor() as cursor:
            cursor.execute("INSERT INTO batches VALUES (%s, %s) ON CONFLICT DO NOTHING", key)
            if cursor.rowcount:
                execute_values(cursor, "INSERT INTO counts VALUES %s", rows)
    finally:
        connection.close()


def run(spark: SparkSession, current: Current) -> None:
    """Run the stream until the file ``spark.counts.stop`` exists."""
    configs = current()
    print(f"application {spark.sparkContext.applicationId}", flush=True)

    def write_batch(batch: DataFrame, number: int) -> None:
        write(batch, number, query=query_of(batch), current=current)

    counts = spark.readStream.schema("airport STRING, flights INT").json(configs["spark.counts.source"])
    query = (
        counts.writeStream.foreachBatch(write_batch)
        .option("checkpointLocation", configs["spark.counts.checkpoint"])
        .start()
    )
    while not query.awaitTermination(1):
        if Path(configs["spark.counts.stop"]).exists():
            query.processAllAvailable()
            query.stop()


def main() -> None:
    """Run the stream with the configuration that the job was submitted with."""
    spark = SparkSession.builder.getOrCreate()
    run(spark, lambda: dict(spark.sparkContext.getConf().getAll()))


if __name__ == "__main__":
    main()
