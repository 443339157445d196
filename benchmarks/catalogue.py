"""Loads what the package knows of Spark's keys."""

from __future__ import annotations

from airflow_config_providers.spark import catalogue, catalogue_file, known_keys
from airflow_config_providers.spark.key_notes import key_notes
from benchmarks.measure import Aim, Effort, Report, Work, number

TYPES = "types and defaults of a version"
NOTES = "documentation of a key, its file included"
NEAR = "the key meant by a misspelt one, the first time"


_CACHED = (
    known_keys._names,
    known_keys._of_spark,
    known_keys._nearest,
)


def types() -> None:
    catalogue_file._file.cache_clear()
    catalogue_file.rows.cache_clear()
    catalogue._definition.cache_clear()
    catalogue.spark_definition("4.2.0").config_keys["spark.executor.memory"]


def notes() -> None:
    catalogue_file._file.cache_clear()
    catalogue_file.notes.cache_clear()
    key_notes("spark.executor.memory", "4.2.0")


def near() -> None:
    for cached in _CACHED:
        cached.cache_clear()
    known_keys.meant("spark.sql.shufle.partitions")


def run(effort: Effort) -> list[Report]:
    works: dict[str, Work] = {TYPES: types, NOTES: notes, NEAR: near}
    times = effort.each(works)
    return [
        Report(
            "Load Spark's catalogue",
            "Each from its file, as a process does once. A task that sets only keys that Spark knows reads the types; "
            "the rest is read when somebody asks for it.",
            ("", "ms"),
            [(what, number(time)) for what, time in times.items()],
            [Aim("types and defaults of a version of Spark, loaded once", 10, times[TYPES], "ms")],
        )
    ]
