"""The five raw data sets: their columns, the columns that identify a row, and the rules that a bad row breaks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as fn

Rules = Callable[[frozenset[str]], dict[str, Column]]

FASTEST_MPH = 700
STRONGEST_WIND_MPH = 200


@dataclass(frozen=True, slots=True)
class Dataset:
    """One CSV file: its columns, its key, its rules and how its table is partitioned."""

    name: str
    schema: str
    key: tuple[str, ...]
    rules: Rules
    partitions: tuple[str, ...] = ()


def flight_rules(carriers: frozenset[str]) -> dict[str, Column]:
    """
    Return the rules for a flight; ``carriers`` are the known airlines.

    A cancelled flight has no times and often no aircraft, and is valid data: only a flight that departed needs a tail
    number.
    """
    departed = fn.col("dep_time").isNotNull()
    arrived = fn.col("arr_time").isNotNull()
    scheduled = is_clock("sched_dep_time") & is_clock("sched_arr_time") & is_date("year", "month", "day")
    return {
        "unknown_carrier": ~fn.col("carrier").isin(*carriers),
        "impossible_schedule": ~scheduled,
        "impossible_time": ~(is_clock("dep_time") & is_clock("arr_time")),
        "departed_without_tail_number": departed & fn.col("tailnum").isNull(),
        "arrived_without_departing": arrived & ~departed,
        "arrived_without_delay": arrived & fn.col("arr_delay").isNull(),
        "delay_disagrees_with_clock": clock_minutes("dep_time") != delayed_clock("sched_dep_time", "dep_delay"),
        "air_time_not_positive": fn.col("air_time") <= 0,
        "impossible_speed": fn.col("distance") > fn.col("air_time") / 60 * FASTEST_MPH,
    }


def weather_rules(_carriers: frozenset[str]) -> dict[str, Column]:
    """Return the rules for an hourly weather report."""
    return {
        "impossible_wind": fn.col("wind_speed") > STRONGEST_WIND_MPH,
        "impossible_humidity": ~fn.col("humid").between(0, 100),
        "negative_rain": fn.col("precip") < 0,
    }


def airport_rules(_carriers: frozenset[str]) -> dict[str, Column]:
    """Return the rules for an airport."""
    return {"impossible_place": ~(fn.col("lat").between(-90, 90) & fn.col("lon").between(-180, 180))}


def no_rules(_carriers: frozenset[str]) -> dict[str, Column]:
    """Return no rules, besides those for every data set."""
    return {}


def is_clock(name: str) -> Column:
    """Return whether a column is a time of day in the form HHMM, with 2400 for midnight. Null is valid."""
    time = fn.col(name)
    return fn.coalesce(time.between(0, 2400) & (time % 100 < 60), fn.lit(True))


def is_date(year: str, month: str, day: str) -> Column:
    """Return whether three columns are a valid date."""
    return fn.try_to_date(fn.format_string("%04d-%02d-%02d", year, month, day)).isNotNull()


def clock_minutes(name: str) -> Column:
    """Return the minutes since midnight of a time in the form HHMM."""
    return (fn.floor(fn.col(name) / 100) * 60 + fn.col(name) % 100) % 1440


def delayed_clock(name: str, delay: str) -> Column:
    """Return the minutes since midnight of a scheduled time plus a delay."""
    return fn.pmod(clock_minutes(name) + fn.col(delay), fn.lit(1440))


AIRLINES = Dataset("airlines", "carrier STRING, name STRING", ("carrier",), no_rules)
AIRPORTS = Dataset(
    "airports",
    "faa STRING, name STRING, lat DOUBLE, lon DOUBLE, alt INT, tz INT, dst STRING, tzone STRING",
    ("faa",),
    airport_rules,
)
PLANES = Dataset(
    "planes",
    "tailnum STRING, year INT, type STRING, manufacturer STRING, model STRING, engines INT, seats INT, speed INT, "
    "engine STRING",
    ("tailnum",),
    no_rules,
)
WEATHER = Dataset(
    "weather",
    "origin STRING, year INT, month INT, day INT, hour INT, temp DOUBLE, dewp DOUBLE, humid DOUBLE, wind_dir INT, "
    "wind_speed DOUBLE, wind_gust DOUBLE, precip DOUBLE, pressure DOUBLE, visib DOUBLE, time_hour TIMESTAMP",
    ("origin", "time_hour"),
    weather_rules,
    ("origin",),
)
FLIGHTS = Dataset(
    "flights",
    "year INT, month INT, day INT, dep_time INT, sched_dep_time INT, dep_delay INT, arr_time INT, sched_arr_time INT, "
    "arr_delay INT, carrier STRING, flight INT, tailnum STRING, origin STRING, dest STRING, air_time INT, "
    "distance INT, hour INT, minute INT, time_hour TIMESTAMP",
    ("time_hour", "minute", "carrier", "flight", "origin"),
    flight_rules,
    ("month", "origin"),
)

# Airlines come first, because the rules for flights need them.
DATASETS = (AIRLINES, AIRPORTS, PLANES, WEATHER, FLIGHTS)
