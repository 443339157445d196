"""
Join the flights with weather, planes, airlines and airports, and follow each aircraft through its day.

Settings: ``spark.flights.lake.dir``.
"""

from __future__ import annotations

from flights_common import Settings, progress, session
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as fn

FREEZING_F = 32
STRONG_WIND_MPH = 20
POOR_VISIBILITY_MILES = 3
LONGEST_TURNAROUND_MINUTES = 24 * 60
SECONDS_A_DAY = 24 * 60 * 60


def add_schedule(flights: DataFrame) -> DataFrame:
    """Add the local date, the scheduled departure in UTC, and the status of the flight."""
    status = (
        fn.when(fn.col("dep_time").isNull(), "cancelled")
        .when(fn.col("arr_delay").isNull(), "diverted")
        .otherwise("arrived")
    )
    return flights.withColumns(
        {
            "flight_date": fn.make_date("year", "month", "day"),
            "scheduled_at": fn.col("time_hour") + fn.make_dt_interval(mins=fn.col("minute")),
            "status": status,
        }
    )


def weather_class() -> Column:
    """Return the weather of a row, named by what affects a departure most; unknown for hours without a report."""
    wet = fn.col("precip") > 0
    return (
        fn.when(fn.col("temp").isNull(), "unknown")
        .when(wet & (fn.col("temp") <= FREEZING_F), "snow or ice")
        .when(wet, "rain")
        .when(fn.col("visib") < POOR_VISIBILITY_MILES, "poor visibility")
        .when(fn.col("wind_speed") >= STRONG_WIND_MPH, "strong wind")
        .otherwise("fair")
    )


def add_weather(flights: DataFrame, weather: DataFrame) -> DataFrame:
    """Join the weather report of the origin for the hour of the scheduled departure."""
    columns = ("origin", "time_hour", "temp", "wind_speed", "precip", "visib")
    joined = flights.join(fn.broadcast(weather.select(*columns)), ["origin", "time_hour"], "left")
    return joined.withColumn("weather", weather_class())


def add_plane(flights: DataFrame, planes: DataFrame) -> DataFrame:
    """Join the aircraft: its manufacturer, its seats and its age in years."""
    columns = planes.select("tailnum", "manufacturer", "seats", fn.col("year").alias("built"))
    joined = flights.join(fn.broadcast(columns), "tailnum", "left")
    return joined.withColumn("plane_age", fn.col("year") - fn.col("built")).drop("built")


def add_airline(flights: DataFrame, airlines: DataFrame) -> DataFrame:
    """Join the airline's name."""
    return flights.join(fn.broadcast(airlines.withColumnRenamed("name", "airline")), "carrier", "left")


def add_airport(flights: DataFrame, airports: DataFrame) -> DataFrame:
    """Join the destination's name; four airports outside the mainland are not listed, and keep their code."""
    names = airports.select(fn.col("faa").alias("dest"), fn.col("name").alias("airport"))
    joined = flights.join(fn.broadcast(names), "dest", "left")
    return joined.withColumn("airport", fn.coalesce("airport", "dest"))


def add_rolling_delay(flights: DataFrame, *, days: int = 7) -> DataFrame:
    """Add the mean arrival delay of the airline over the last days, including this one."""
    day = fn.unix_date("flight_date")
    window = Window.partitionBy("carrier").orderBy(day).rangeBetween(1 - days, 0)
    return flights.withColumn("airline_rolling_delay", fn.round(fn.avg("arr_delay").over(window), 2))


def add_rank_of_day(flights: DataFrame) -> DataFrame:
    """Rank the departures of each origin and day by delay, longest first; flights that never left have no rank."""
    window = Window.partitionBy("origin", "flight_date").orderBy(fn.col("dep_delay").desc_nulls_last())
    return flights.withColumn("rank_of_day", fn.when(fn.col("dep_delay").isNotNull(), fn.rank().over(window)))


def add_previous_leg(flights: DataFrame) -> DataFrame:
    """
    Add the previous leg of the aircraft, and how much of its delay it inherited.

    The data has only departures from New York, so the previous leg is the aircraft's previous departure from there, if
    it was within a day. The inherited part of a delay is at most the delay of the aircraft on that leg.
    """
    window = Window.partitionBy("tailnum").orderBy("scheduled_at")
    gap = (fn.unix_timestamp("scheduled_at") - fn.unix_timestamp(fn.lag("scheduled_at").over(window))) / 60
    is_followed = fn.col("tailnum").isNotNull() & (gap <= LONGEST_TURNAROUND_MINUTES)
    with_leg = flights.withColumns(
        {
            "previous_dest": fn.when(is_followed, fn.lag("dest").over(window)),
            "previous_arr_delay": fn.when(is_followed, fn.lag("arr_delay").over(window)),
        }
    )
    both_late = (fn.col("previous_arr_delay") > 0) & (fn.col("dep_delay") > 0)
    inherited = fn.when(both_late, fn.least("previous_arr_delay", "dep_delay")).otherwise(0)
    return with_leg.withColumn("inherited_delay", inherited)


def main() -> None:
    """Write the table ``enriched``, partitioned by month."""
    spark = session()
    settings = Settings(spark.conf)
    tables = {
        name: spark.read.parquet(settings.table(name))
        for name in ("flights", "weather", "planes", "airlines", "airports")
    }

    flights = add_schedule(tables["flights"])
    flights = add_weather(flights, tables["weather"])
    flights = add_plane(flights, tables["planes"])
    flights = add_airline(flights, tables["airlines"])
    flights = add_airport(flights, tables["airports"])
    progress("joined with weather, planes, airlines and airports")

    flights = add_previous_leg(add_rank_of_day(add_rolling_delay(flights)))
    flights.repartition("month").write.mode("overwrite").partitionBy("month").parquet(settings.table("enriched"))

    enriched = spark.read.parquet(settings.table("enriched"))
    expected, written = tables["flights"].count(), enriched.count()
    if written != expected:
        raise RuntimeError(f"{expected} flights went into the joins, but {written} came out: a table repeats a key.")
    progress(f"enriched: {written} flights")
    enriched.groupBy("weather").count().orderBy(fn.desc("count")).show(truncate=False)


if __name__ == "__main__":
    main()
