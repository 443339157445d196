"""Delays are summed up by group."""

from __future__ import annotations

from typing import Any

import pytest
import report
from flights_common import Settings
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

pytestmark = pytest.mark.slow

SCHEMA = "airline STRING, status STRING, dep_delay INT, arr_delay INT, inherited_delay INT"


def flights(spark: SparkSession, *rows: tuple[Any, ...]) -> DataFrame:
    return spark.createDataFrame(list(rows), SCHEMA)


def test_delays_are_summed_up_by_airline(spark: SparkSession) -> None:
    rows = flights(
        spark,
        ("United", "arrived", 10, 20, 5),
        ("United", "arrived", 0, 10, 0),
        ("United", "cancelled", None, None, 0),
        ("United", "diverted", 5, None, 1),
    )

    [row] = report.delays_by(rows, "airline", min_flights=1).collect()

    assert row.asDict() == {
        "airline": "United",
        "flights": 4,
        "cancelled": 1,
        "mean_dep_delay": 5.0,
        "mean_arr_delay": 15.0,
        "p90_arr_delay": 19.0,
        "late_share": 0.5,
        "mean_inherited_delay": 1.5,
    }


def test_the_latest_airline_comes_first(spark: SparkSession) -> None:
    rows = flights(spark, ("Early", "arrived", 0, -5, 0), ("Late", "arrived", 0, 50, 0), ("Fair", "arrived", 0, 3, 0))

    names = [row["airline"] for row in report.delays_by(rows, "airline", min_flights=1).collect()]

    assert names == ["Late", "Fair", "Early"]


def test_groups_that_are_too_small_are_left_out(spark: SparkSession) -> None:
    rows = flights(spark, ("A", "arrived", 0, 0, 0), ("B", "arrived", 0, 0, 0), ("B", "arrived", 0, 0, 0))

    names = [row["airline"] for row in report.delays_by(rows, "airline", min_flights=2).collect()]

    assert names == ["B"]


def test_the_last_day_of_the_report_counts(spark: SparkSession) -> None:
    days = spark.createDataFrame([("2013-01-31",), ("2013-02-01",)], "day STRING")

    found = report.up_to(days.withColumn("flight_date", fn.to_date("day")), "2013-01-31")

    assert [row["day"] for row in found.collect()] == ["2013-01-31"]


@pytest.fixture
def database() -> report.Database:
    names = ("url", "user", "driver", "password")

    class Conf:
        def get(self, key: str, default: str) -> str:
            known = {f"spark.flights.db.{name}": f"the-{name}" for name in names}
            return known.get(key, default)

    return report.Database.of(Settings(Conf()))


def test_the_database_is_read_from_the_settings(database: report.Database) -> None:
    assert database.options() == {name: f"the-{name}" for name in ("url", "user", "driver", "password")}


def test_the_password_is_not_in_the_text_of_the_database(database: report.Database) -> None:
    assert "the-password" not in repr(database)


def test_a_table_in_the_database_is_replaced(spark: SparkSession) -> None:
    memory = report.Database(
        url="jdbc:derby:memory:flights;create=true",
        user="reporter",
        driver="org.apache.derby.jdbc.EmbeddedDriver",
        password="any",
    )
    rows = spark.createDataFrame([("United", 1), ("Delta", 2)], "airline STRING, flights INT")

    memory.replace("delays", rows)
    memory.replace("delays", rows.where("flights = 1"))

    assert memory.count(spark, "delays") == 1
