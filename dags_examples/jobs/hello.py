"""Say hello, and how long the token is: enough to see that it arrived."""

from __future__ import annotations

from pyspark.sql import SparkSession


def greeting(name: str, token: str) -> str:
    """Give the line that the job prints."""
    return f"hello {name}, your token has {len(token)} characters"


def main() -> None:
    """Read both settings by their keys."""
    spark = SparkSession.builder.getOrCreate()
    print(greeting(spark.conf.get("spark.hello.name"), spark.conf.get("spark.hello.token")), flush=True)


if __name__ == "__main__":
    main()
