"""
Report delays by airline, by airport and by weather: as Parquet, and in a database that requires a password.

Settings: ``spark.flights.lake.dir``, ``spark.flights.report.until`` (a date), ``spark.flights.report.min.flights``,
``spark.flights.report.top``, ``spark.flights.db.url``, ``spark.flights.db.user``, ``spark.flights.db.password``,
``spark.flights.db.driver``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from flights_common import Settings, progress, session
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

LATE_MINUTES = 15
REPORTS = {"delay_by_airline": "airline", "delay_by_airport": "airport", "delay_by_weather": "weather"}


@dataclass(frozen=True, slots=True)
class Database:
    """The database for the report, and its user."""

    url: str
    user: str
    driver: str
    password: str = field(repr=False)

    @classmethod
    def of(cls, settings: Settings) -> Database:
        """Return the database in the settings."""
        return cls(**{name: settings.text(f"db.{name}") for name in ("url", "user", "driver", "password")})

    def options(self) -> dict[str, str]:
        """Return the options of Spark's JDBC source."""
        return {"url": self.url, "user": self.user, "password": self.password, "driver": self.driver}

    def check(self, spark: SparkSession) -> None:
        """Log in, so that a wrong password is detected before the work instead of after it."""
        spark.read.format("jdbc").options(**self.options(), query="VALUES 1").load()

    def replace(self, table: str, rows: DataFrame) -> None:
        """Replace the content of a table."""
        # By default, a string becomes a CLOB in Derby, which can be neither sorted nor compared.
        names = ", ".join(f"{name} VARCHAR(128)" for name, kind in rows.dtypes if kind == "string")
        writer = rows.coalesce(1).write.format("jdbc").options(**self.options(), dbtable=table, truncate="true")
        writer.option("createTableColumnTypes", names).mode("overwrite").save()

    def count(self, spark: SparkSession, table: str) -> int:
        """Return the number of rows in the table."""
        return spark.read.format("jdbc").options(**self.options(), dbtable=table).load().count()


def up_to(flights: DataFrame, date: str) -> DataFrame:
    """Return the flights up to a date, including that day."""
    return flights.where(fn.col("flight_date") <= fn.to_date(fn.lit(date)))


def delays_by(flights: DataFrame, column: str, *, min_flights: float) -> DataFrame:
    """Return the delays of each group with enough flights, longest mean delay first."""
    arrived = fn.col("status") == "arrived"
    is_late = fn.when(arrived, (fn.col("arr_delay") > LATE_MINUTES).cast("int"))
    grouped = flights.groupBy(column).agg(
        fn.count("*").alias("flights"),
        fn.count_if(fn.col("status") == "cancelled").alias("cancelled"),
        fn.round(fn.avg("dep_delay"), 2).alias("mean_dep_delay"),
        fn.round(fn.avg("arr_delay"), 2).alias("mean_arr_delay"),
        fn.round(fn.percentile("arr_delay", 0.9), 1).alias("p90_arr_delay"),
        fn.round(fn.avg(is_late), 4).alias("late_share"),
        fn.round(fn.avg("inherited_delay"), 2).alias("mean_inherited_delay"),
    )
    return grouped.where(fn.col("flights") >= min_flights).orderBy(fn.desc("mean_arr_delay"), column)


def main() -> None:
    """Write the three reports."""
    spark = session()
    settings = Settings(spark.conf)
    database = Database.of(settings)
    database.check(spark)
    progress(f"logged in to {database.url} as {database.user}")

    until, top = settings.text("report.until"), int(settings.number("report.top"))
    flights = up_to(spark.read.parquet(settings.table("enriched")), until).cache()
    progress(f"{flights.count()} flights up to {until}")
    for table, column in REPORTS.items():
        place = settings.table(f"report/{table}")
        delays = delays_by(flights, column, min_flights=settings.number("report.min.flights"))
        delays.coalesce(1).write.mode("overwrite").parquet(place)
        rows = spark.read.parquet(place)
        database.replace(table, rows)
        progress(f"{table}: {rows.count()} rows as Parquet, {database.count(spark, table)} in the database")
        rows.limit(top).coalesce(1).write.mode("overwrite").json(settings.table(f"report/top/{table}"))
        rows.show(top, truncate=False)


if __name__ == "__main__":
    main()
