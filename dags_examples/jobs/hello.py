"""Say hello, and print the length of the token to show that it arrived."""

from __future__ import annotations

from pyspark.sql import SparkSession


def greeting(name: str, token: str) -> str:
    """Return the line that the job prints."""
    return f"hello {name}, your token has {len(token)} characters"


def main() -> None:
    """Read both settings, and print the greeting."""
    spark = SparkSession.builder.getOrCreate()
    print(greeting(spark.conf.get("spark.hello.name"), spark.conf.get("spark.hello.token")), flush=True)


if __name__ == "__main__":
    main()
