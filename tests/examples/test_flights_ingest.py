"""The raw files become tables, and every row is accounted for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import flights_datasets as datasets
import ingest
import pytest
from flights_common import MissingSettingError, Settings
from pyspark.sql import SparkSession
from pyspark.sql import functions as fn

pytestmark = pytest.mark.slow

GOOD_FLIGHT = {
    "year": "2013", "month": "1", "day": "1", "dep_time": "517", "sched_dep_time": "515", "dep_delay": "2",
    "arr_time": "830", "sched_arr_time": "819", "arr_delay": "11", "carrier": "UA", "flight": "1545",
    "tailnum": "N14228", "origin": "EWR", "dest": "IAH", "air_time": "227", "distance": "1400", "hour": "5",
    "minute": "15", "time_hour": "2013-01-01T10:00:00Z",
}  # fmt: skip
CANCELLED = dict.fromkeys(("dep_time", "dep_delay", "arr_time", "arr_delay", "air_time", "tailnum"), "NA")
CARRIERS = frozenset({"UA", "DL"})


def csv(rows: list[Mapping[str, str]]) -> str:
    lines = [",".join(rows[0]), *(",".join(row.values()) for row in rows)]
    return "\n".join(lines) + "\n"


def broken_rules(
    spark: SparkSession, folder: Path, dataset: datasets.Dataset, rows: list[Mapping[str, str]]
) -> list[list[str]]:
    """The rules that each row breaks, in the order of the rows."""
    (folder / f"{dataset.name}.csv").write_text(csv(rows))
    raw = ingest.read_raw(spark, dataset, folder=str(folder)).withColumn("at", fn.monotonically_increasing_id())
    checked = ingest.check(raw, dataset, carriers=CARRIERS).orderBy("at").collect()
    return [sorted(row[ingest.BROKEN_RULES]) for row in checked]


CHANGES: Mapping[str, tuple[Mapping[str, str], list[str]]] = {
    "good": ({}, []),
    "cancelled-needs-no-aircraft": (CANCELLED, []),
    "midnight": ({"dep_time": "2400", "sched_dep_time": "2359", "dep_delay": "1"}, []),
    "late-over-midnight": ({"dep_time": "10", "sched_dep_time": "2350", "dep_delay": "20"}, []),
    "unknown-carrier": ({"carrier": "ZZ"}, ["unknown_carrier"]),
    "schedule-after-midnight": ({"sched_arr_time": "2500"}, ["impossible_schedule"]),
    "day-32": ({"day": "32"}, ["impossible_schedule"]),
    "minute-75": ({"arr_time": "1275"}, ["impossible_time"]),
    "left-without-tail-number": ({"tailnum": "NA"}, ["departed_without_tail_number"]),
    "never-left": ({"dep_time": "NA", "dep_delay": "NA"}, ["arrived_without_departing"]),
    "no-delay": ({"arr_delay": "NA"}, ["arrived_without_delay"]),
    "delay-is-not-the-difference": ({"dep_delay": "99"}, ["delay_disagrees_with_clock"]),
    "negative-air-time": ({"air_time": "-5"}, ["air_time_not_positive", "impossible_speed"]),
    "840-miles-an-hour": ({"air_time": "100"}, ["impossible_speed"]),
    "no-origin": ({"origin": "NA"}, ["missing_key"]),
    "no-number": ({"flight": "fifteen"}, ["malformed_line", "missing_key"]),
}
"""What differs from a good flight, and the rules that it breaks."""


@pytest.fixture(scope="module")
def told(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[str]]:
    """The rules that each flight breaks, all of them in one job; each flight has a number of its own."""
    rows = [{**GOOD_FLIGHT, "flight": str(number), **change} for number, (change, _) in enumerate(CHANGES.values())]
    found = broken_rules(spark, tmp_path_factory.mktemp("flights"), datasets.FLIGHTS, rows)
    return dict(zip(CHANGES, found, strict=True))


@pytest.mark.parametrize("name", CHANGES)
def test_a_flight_that_breaks_a_rule_is_told_which(told: Mapping[str, list[str]], name: str) -> None:
    _, rules = CHANGES[name]

    assert told[name] == rules


def test_of_equal_flights_one_is_good(spark: SparkSession, tmp_path: Path) -> None:
    found = broken_rules(spark, tmp_path, datasets.FLIGHTS, [GOOD_FLIGHT, GOOD_FLIGHT, GOOD_FLIGHT])

    assert sorted(found) == [[], ["duplicate"], ["duplicate"]]


def test_a_storm_of_a_thousand_miles_an_hour_is_no_weather(spark: SparkSession, tmp_path: Path) -> None:
    names = [column.split()[0] for column in datasets.WEATHER.schema.split(", ")]
    report = {**dict.fromkeys(names, "NA"), "origin": "EWR", "time_hour": "2013-01-01T10:00:00Z"}

    found = broken_rules(spark, tmp_path, datasets.WEATHER, [{**report, "wind_speed": "1048.4"}])

    assert found == [["impossible_wind"]]


def test_a_rejected_row_keeps_its_content(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "airlines.csv").write_text("carrier,name\nNA,Nobody's Air\n")
    raw = ingest.read_raw(spark, datasets.AIRLINES, folder=str(tmp_path))

    [row] = ingest.rejected(ingest.check(raw, datasets.AIRLINES)).collect()

    assert (row["broken_rules"], row["record"]) == (["missing_key"], '{"name":"Nobody\'s Air"}')


def test_a_line_that_does_not_fit_is_kept_as_it_was_read(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "airlines.csv").write_text("carrier,name\nUA,United,extra\n")
    raw = ingest.read_raw(spark, datasets.AIRLINES, folder=str(tmp_path))

    [row] = ingest.rejected(ingest.check(raw, datasets.AIRLINES)).collect()

    assert row["record"] == "UA,United,extra"


class Conf(dict[str, str]):
    """A job's configuration."""

    def get(self, key: str, default: Any = None) -> Any:
        return super().get(key, default)


def settings(**values: str) -> Settings:
    return Settings(Conf({f"spark.flights.{name.replace('_', '.')}": value for name, value in values.items()}))


def test_ingest_accounts_for_every_row(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "airlines.csv").write_text("carrier,name\nUA,United\nDL,Delta\n")
    rows = [GOOD_FLIGHT, GOOD_FLIGHT, {**GOOD_FLIGHT, "flight": "2", "carrier": "ZZ"}, {**GOOD_FLIGHT, "month": "2"}]
    (tmp_path / "flights.csv").write_text(csv(rows))
    given = settings(raw_dir=str(tmp_path), lake_dir=str(tmp_path / "lake"))

    ingest.ingest(spark, datasets.AIRLINES, settings=given)
    quality = ingest.ingest(spark, datasets.FLIGHTS, settings=given)

    by_rule = {"duplicate": 2, "unknown_carrier": 1}
    assert quality == ingest.Quality("flights", read=4, accepted=1, rejected=3, by_rule=by_rule)
    assert (tmp_path / "lake/flights/month=1/origin=EWR").is_dir()


@pytest.mark.parametrize(
    ("rejected", "limit"),
    [pytest.param(5, 0.05, id="at-the-limit"), pytest.param(0, 0.0, id="nothing-rejected")],
)
def test_a_share_within_the_limit_passes(rejected: int, limit: float) -> None:
    quality = ingest.Quality("flights", read=100, accepted=100 - rejected, rejected=rejected, by_rule={})

    quality.enforce(max_reject_ratio=limit)


def test_a_share_above_the_limit_fails_and_names_the_rule() -> None:
    quality = ingest.Quality("flights", read=100, accepted=94, rejected=6, by_rule={"duplicate": 6})

    with pytest.raises(ingest.QualityError, match=r"6\.000%.*max\.reject\.ratio allows 5\.000%.*'duplicate': 6"):
        quality.enforce(max_reject_ratio=0.05)


def test_lost_rows_fail_whatever_the_limit() -> None:
    quality = ingest.Quality("flights", read=100, accepted=98, rejected=1, by_rule={})

    with pytest.raises(ingest.QualityError, match="100 read, 98 kept, 1 rejected"):
        quality.enforce(max_reject_ratio=1)


def test_an_empty_file_loses_nothing() -> None:
    assert ingest.Quality("flights", read=0, accepted=0, rejected=0, by_rule={}).reject_ratio == 0


def test_a_missing_setting_is_named() -> None:
    with pytest.raises(MissingSettingError, match=r"spark\.flights\.lake\.dir is not set"):
        settings().table("flights")


def test_a_setting_that_is_no_number_is_named_and_not_shown() -> None:
    with pytest.raises(MissingSettingError) as error:
        settings(report_top="hunter2").number("report.top")

    assert str(error.value) == "spark.flights.report.top is not a number."
    assert error.value.__context__ is None
