"""The flights meet weather, planes, airlines and airports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import join
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

pytestmark = pytest.mark.slow


def frame(spark: SparkSession, schema: str, *rows: tuple[Any, ...]) -> DataFrame:
    return spark.createDataFrame(list(rows), schema)


def values(rows: DataFrame, column: str, *, by: str) -> list[Any]:
    return [row[column] for row in rows.orderBy(by).collect()]


@pytest.mark.parametrize(
    ("dep_time", "arr_delay", "status"),
    [
        pytest.param(None, None, "cancelled", id="never-left"),
        pytest.param(517, None, "diverted", id="left-and-did-not-arrive"),
        pytest.param(517, 0, "arrived", id="on-time"),
    ],
)
def test_a_flight_has_a_status(spark: SparkSession, dep_time: int | None, arr_delay: int | None, status: str) -> None:
    schema = "year INT, month INT, day INT, minute INT, dep_time INT, arr_delay INT, hour STRING"
    flight = frame(spark, schema, (2013, 1, 2, 15, dep_time, arr_delay, "2013-01-02 10:00:00"))

    [row] = join.add_schedule(flight.withColumn("time_hour", fn.to_timestamp("hour"))).collect()

    assert row["status"] == status
    assert (str(row["flight_date"]), row["scheduled_at"].minute) == ("2013-01-02", 15)


REPORTS: Mapping[str, tuple[tuple[float | None, ...], str]] = {
    "no-report": ((None, None, None, None), "unknown"),
    "wet-and-freezing": ((30.0, 0.1, 1.0, 30.0), "snow or ice"),
    "wet": ((40.0, 0.1, 1.0, 30.0), "rain"),
    "fog": ((40.0, 0.0, 1.0, 30.0), "poor visibility"),
    "wind": ((40.0, 0.0, 10.0, 20.0), "strong wind"),
    "fair": ((40.0, 0.0, 10.0, 19.9), "fair"),
    "wind-not-measured": ((40.0, 0.0, 10.0, None), "fair"),
}


@pytest.fixture(scope="module")
def classes(spark: SparkSession) -> Mapping[str, str]:
    """The class of each report, all of them in one job."""
    rows = [(name, *report) for name, (report, _) in REPORTS.items()]
    reports = frame(spark, "name STRING, temp DOUBLE, precip DOUBLE, visib DOUBLE, wind_speed DOUBLE", *rows)
    return {row[0]: row[1] for row in reports.select("name", join.weather_class()).collect()}


@pytest.mark.parametrize("name", REPORTS)
def test_weather_has_the_name_of_its_worst_trouble(classes: Mapping[str, str], name: str) -> None:
    _, expected = REPORTS[name]

    assert classes[name] == expected


def test_a_flight_gets_the_weather_of_its_origin_and_hour(spark: SparkSession) -> None:
    flights = frame(spark, "origin STRING, time_hour INT", ("EWR", 1), ("JFK", 1), ("EWR", 2))
    schema = "origin STRING, time_hour INT, temp DOUBLE, wind_speed DOUBLE, precip DOUBLE, visib DOUBLE"
    weather = frame(spark, schema, ("EWR", 1, 50.0, 0.0, 1.0, 10.0), ("JFK", 1, 50.0, 0.0, 0.0, 10.0))

    joined = join.add_weather(flights, weather)

    found = {(row["origin"], row["time_hour"]): row["weather"] for row in joined.collect()}
    assert found == {("EWR", 1): "rain", ("JFK", 1): "fair", ("EWR", 2): "unknown"}


def test_an_unknown_plane_keeps_its_flight(spark: SparkSession) -> None:
    flights = frame(spark, "tailnum STRING, year INT", ("N1", 2013), ("N2", 2013), (None, 2013))
    planes = frame(spark, "tailnum STRING, year INT, manufacturer STRING, seats INT", ("N1", 2003, "BOEING", 149))

    joined = join.add_plane(flights, planes)

    assert values(joined, "plane_age", by="tailnum") == [None, 10, None]


def test_an_airport_that_is_not_listed_keeps_its_code(spark: SparkSession) -> None:
    flights = frame(spark, "dest STRING", ("IAH",), ("SJU",))
    airports = frame(spark, "faa STRING, name STRING", ("IAH", "George Bush"))

    assert values(join.add_airport(flights, airports), "airport", by="dest") == ["George Bush", "SJU"]


def test_an_airline_gets_its_name(spark: SparkSession) -> None:
    flights = frame(spark, "carrier STRING", ("UA",))
    airlines = frame(spark, "carrier STRING, name STRING", ("UA", "United"))

    assert values(join.add_airline(flights, airlines), "airline", by="carrier") == ["United"]


def test_the_rolling_delay_covers_seven_days_of_one_airline(spark: SparkSession) -> None:
    rows = [("UA", f"2013-01-{day:02}", delay) for day, delay in ((1, 70), (2, 10), (7, 40), (8, 0))]
    flights = frame(spark, "carrier STRING, text STRING, arr_delay INT", *rows, ("DL", "2013-01-07", 99))
    dated = flights.withColumn("flight_date", fn.to_date("text"))

    united = join.add_rolling_delay(dated).where("carrier = 'UA'")

    assert values(united, "airline_rolling_delay", by="flight_date") == [70.0, 40.0, 40.0, 16.67]


def test_the_latest_departure_of_a_day_ranks_first(spark: SparkSession) -> None:
    schema = "flight INT, origin STRING, flight_date STRING, dep_delay INT"
    day = ("EWR", "2013-01-01")
    flights = frame(spark, schema, (1, *day, 5), (2, *day, 60), (3, *day, None), (4, "JFK", "2013-01-01", 1))

    assert values(join.add_rank_of_day(flights), "rank_of_day", by="flight") == [2, 1, None, 1]


LEG = "flight INT, tailnum STRING, at STRING, dest STRING, dep_delay INT, arr_delay INT"


@pytest.mark.parametrize(
    ("first", "second", "previous", "inherited"),
    [
        pytest.param(("N1", "2013-01-01 06:00", 30), ("N1", "2013-01-01 12:00", 20), "BOS", 20, id="all-inherited"),
        pytest.param(("N1", "2013-01-01 06:00", 15), ("N1", "2013-01-01 12:00", 20), "BOS", 15, id="some-inherited"),
        pytest.param(("N1", "2013-01-01 06:00", 30), ("N1", "2013-01-01 12:00", -3), "BOS", 0, id="made-good"),
        pytest.param(("N1", "2013-01-01 06:00", -9), ("N1", "2013-01-01 12:00", 20), "BOS", 0, id="first-was-early"),
        pytest.param(("N1", "2013-01-01 06:00", 30), ("N1", "2013-01-02 06:01", 20), None, 0, id="more-than-a-day"),
        pytest.param(("N2", "2013-01-01 06:00", 30), ("N1", "2013-01-01 12:00", 20), None, 0, id="another-aircraft"),
        pytest.param((None, "2013-01-01 06:00", 30), (None, "2013-01-01 12:00", 20), None, 0, id="no-tail-number"),
    ],
)
def test_a_leg_inherits_delay_from_the_leg_before(
    spark: SparkSession,
    first: tuple[str | None, str, int],
    second: tuple[str | None, str, int],
    previous: str | None,
    inherited: int,
) -> None:
    legs = frame(spark, LEG, (1, *first[:2], "BOS", 0, first[2]), (2, *second[:2], "IAH", second[2], 0))
    followed = join.add_previous_leg(legs.withColumn("scheduled_at", fn.to_timestamp("at")))

    row = followed.where("flight = 2").first()

    assert (row["previous_dest"], row["inherited_delay"]) == (previous, inherited)
