"""Records are put together from the entries that executors read, as one process puts them together."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.job.record import TaskTry, written
from airflow_config_providers.job.record_entries import StoredEntry, contents_of, name_of, times_of
from airflow_config_providers.job.record_store import ANY_KEY, FIRST_KEY, keys_of, packed, record_key
from tests.spark.audit.history.past import record_of

AT = "2026-11-23 17:00:00.5+00"
FIRST, SECOND = 0, 1
"""The tables."""


def record(run: str = "r1", value: str = "1") -> Any:
    return record_of([ConfigLayer(ConfigSource.DAG_CONFIG, "conf", {"spark.a": value})], run=run)


def rows(run: str, place: int, entries: dict[str, Any], at: str = AT) -> list[StoredEntry]:
    of = ("flights", "report", run, -1, 1)
    return [StoredEntry(*of, place, key, at, json.dumps(value)) for key, value in entries.items()]


def name(run: str) -> str:
    return name_of(TaskTry("flights", "report", run))


def test_the_entries_of_each_try_become_its_record():
    entries = [row for run in ("r1", "r2") for row in rows(run, FIRST, packed(record(run)))]

    assert list(contents_of(entries)) == [(name(run), written(record(run))) for run in ("r1", "r2")]


def test_a_record_in_the_first_table_counts():
    stored, other = record(value="first"), record(value="second")

    assert list(contents_of([*rows("r1", FIRST, packed(stored)), *rows("r1", SECOND, packed(other))])) == [
        (name("r1"), written(stored))
    ]


def test_a_record_in_the_second_table_counts_if_the_first_has_only_parts():
    entries = [*rows("r1", FIRST, {f"{record_key(1)}_part2": "x"}), *rows("r1", SECOND, packed(record()))]

    assert list(contents_of(entries)) == [(name("r1"), written(record()))]


@pytest.mark.parametrize(
    "value",
    [
        pytest.param('{"__airflow_state_ref__": "s3://x"}', id="of a backend"),
        pytest.param("[" * 100_000, id="nested"),
        pytest.param("no JSON", id="no JSON"),
        pytest.param(None, id="too large"),
    ],
)
def test_what_is_no_record_has_no_content_and_harms_no_other(value: str | None):
    broken = StoredEntry("flights", "report", "r1", -1, 1, FIRST, record_key(1), AT, value)

    found = list(contents_of([broken, *rows("r2", FIRST, packed(record("r2")))]))

    assert found == [(name("r1"), b""), (name("r2"), written(record("r2")))]


def test_the_time_of_a_record_is_that_of_the_first_table():
    entries = [*rows("r1", FIRST, {"k": 1}, "1970-01-01 02:00:00.000001+02"), *rows("r1", SECOND, {"k": 1})]

    assert list(times_of("", entries)) == [(name("r1"), 1)]


def test_only_records_since_a_day_have_a_time():
    entries = [*rows("r1", FIRST, {"k": 1}, "2026-11-22 23:59:59"), *rows("r2", FIRST, {"k": 1}, "2026-11-23 00:00:00")]

    assert [found for found, _ in times_of("2026-11-23", entries)] == [name("r2")]


def test_the_patterns_are_those_of_the_keys_that_are_read():
    first, *_ = keys = keys_of(17)

    assert re.fullmatch(FIRST_KEY, first)
    assert [re.fullmatch(ANY_KEY, key)[1] for key in keys] == ["17"] * len(keys)  # type: ignore[index]


@pytest.mark.parametrize("end", ["", "_0", "_01", "_1_part1", "_1_part02", "_1_part201", "_1_jobs", f"_{10**9}"])
def test_other_keys_are_not_read(end: str):
    assert not re.fullmatch(ANY_KEY, f"config_providers_record{end}")
