"""
Count the flights of one month, and sign the count.

Settings: ``spark.count.month``, ``spark.count.flights`` (a CSV file), ``spark.count.dir``, ``spark.count.signing.key``.
"""

from __future__ import annotations

import hashlib
import hmac

from pyspark.sql import SparkSession


def signature(text: str, *, key: str) -> str:
    """Return the HMAC of a text in hexadecimal."""
    return hmac.new(key.encode(), text.encode(), hashlib.sha256).hexdigest()


def main() -> None:
    """Write one line of JSON: the month, its flights and the signature of both."""
    spark = SparkSession.builder.getOrCreate()
    month, key = int(spark.conf.get("spark.count.month")), spark.conf.get("spark.count.signing.key")
    flights = spark.read.option("header", value=True).csv(spark.conf.get("spark.count.flights"))
    count = flights.where(flights["month"] == month).count()
    signed = (month, count, signature(f"{month}:{count}", key=key))
    row = spark.createDataFrame([signed], "month INT, flights LONG, signature STRING")
    row.coalesce(1).write.mode("overwrite").json(f"{spark.conf.get('spark.count.dir')}/month={month}")
    print(f"month {month}: {count} flights, signed", flush=True)


if __name__ == "__main__":
    main()
