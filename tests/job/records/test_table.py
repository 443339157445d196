"""Records as rows: nothing that others write into one is trusted."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from airflow_config_providers.core.layers import ConfigLayer, ConfigSource, LayeredConfig
from airflow_config_providers.job.records.entries import ANY_KEY, FIRST_KEY, keys_of, packed, record_key
from airflow_config_providers.job.records.files import place_of
from airflow_config_providers.job.records.record import TaskTry, TryRecord, recorded, written
from airflow_config_providers.job.records.table import StoredEntry, contents_of, name_of, rows_of, times_of
from airflow_config_providers.spark.audit.records.record_tables import Content, RecordRow, ValueRow
from tests.spark.audit.records.past import record_of

TRY = TaskTry("flights", "report", "r1")


def document(**changed: Any) -> dict[str, Any]:
    layers = [
        ConfigLayer(ConfigSource.DAG_CONFIG, "conf", {"spark.a": "1"}),
        ConfigLayer(ConfigSource.STATIC_FILE_CONFIG, "base.properties", {"spark.a": "2"}),
    ]
    record = TryRecord(TRY, "2026-11-01T13:00:00+01:00", recorded(LayeredConfig(layers)))
    return {**record.document(), **changed}


def rows(*lines: object, file: str = "day=2026-11-02/x.jsonl") -> list[RecordRow]:
    texts = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    return list(rows_of([Content(f"/records/{file}", 1, 2, b"\n".join(texts))]))


def test_a_record_is_a_row_with_its_values_the_winner_first():
    (row,) = rows(document())

    assert (row.dag, row.task, row.run, row.map_index, row.try_number) == ("flights", "report", "r1", -1, 1)
    assert row.configs == [
        ValueRow("spark.a", 0, "DAG_CONFIG", "conf", "1", "spark.a", ""),
        ValueRow("spark.a", 1, "STATIC_FILE_CONFIG", "base.properties", "2", "spark.a", "DAG_CONFIG"),
    ]


def test_the_time_is_in_utc_so_that_it_sorts():
    assert rows(document())[0].at == "2026-11-01T12:00:00.000+00:00"


@pytest.mark.parametrize(
    ("file", "day"),
    [
        pytest.param("day=2026-11-02/x.jsonl", "2026-11-02", id="of-its-folder"),
        pytest.param("x.jsonl", "2026-11-01", id="of-its-time"),
        pytest.param("day=../x.jsonl", "2026-11-01", id="odd-folder"),
    ],
)
def test_the_day_is_that_of_the_folder_or_of_the_time(file: str, day: str):
    assert rows(document(), file=file)[0].day == day


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\n \n", id="blank"),
        pytest.param(b"{", id="broken"),
        pytest.param(b"\xff\xfe\x00", id="binary"),
        pytest.param(b"[" * 100_000, id="deep"),
        pytest.param(b"[1]", id="list"),
        pytest.param(b'{"configs": []}', id="wrong-type"),
    ],
)
def test_what_is_no_record_is_a_problem(content: bytes):
    assert [row.problem for row in rows(content)] == ["Line 1 is no record."]


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        pytest.param({"dag_id": ""}, "Line 1 does not say of which try it is.", id="no-dag"),
        pytest.param({"task_id": 1}, "Line 1 does not say of which try it is.", id="number-as-text"),
        pytest.param({"map_index": "0"}, "Line 1 does not say of which try it is.", id="text-as-number"),
        pytest.param({"map_index": True}, "Line 1 does not say of which try it is.", id="boolean"),
        pytest.param({"try_number": 2**40}, "Line 1 does not say of which try it is.", id="huge-number"),
        pytest.param({"at": "yesterday"}, "Line 1 does not say when the try began.", id="no-time"),
        pytest.param({"at": "0001-01-01T00:00:00+14:00"}, "Line 1 does not say when the try began.", id="before-time"),
    ],
)
def test_a_field_of_the_wrong_form_is_a_problem(changed: Any, problem: str):
    assert [row.problem for row in rows(document(**changed))] == [problem]


def test_records_beside_broken_lines_are_read_and_one_problem_is_told():
    found = rows(b"{", document(), b"{", document())

    assert [row.problem for row in found] == ["Line 1 is no record.", "", ""]


def test_a_file_that_is_too_large_is_a_problem():
    (row,) = rows_of([Content("x", 1, 2**40, None)])

    assert row.problem == "It is too large to be a record."


def test_a_record_in_its_own_place_is_read():
    assert [row.problem for row in rows(document(), file=f"day=2026-11-01/{place_of(TRY)}")] == [""]


def test_a_record_of_an_iteration_of_a_loop_in_its_own_place_is_read():
    task = TaskTry("billing", "report", "r1", 1, 1, "a" * 32)
    (row,) = rows_of([Content(f"day=2026-11-01/{place_of(task)}", 1, 1, written(TryRecord(task, "2026-11-01T00:00")))])

    assert (row.problem, row.map_index) == ("", 1)


def test_a_record_in_the_place_of_another_try_is_a_problem():
    place = place_of(TaskTry("billing", "report", "r1"))
    (row,) = rows(document(), file=f"day=2026-11-01/{place}")

    assert row.problem == "Line 1 is the record of another try than the name of the file says."


@pytest.mark.parametrize("key", ["spark.app.password", "spark.a"])
def test_a_plaintext_secret_that_others_wrote_is_hidden(key: str):
    text = "hunter2" if "password" in key else "jdbc:x://ann:hunter2@db/flights"
    (row,) = rows(document(configs={key: [["DAG_CONFIG", "conf", text]]}))

    assert row.configs[0].value is None


def test_lone_surrogates_become_characters_that_java_has():
    (row,) = rows(document(configs={"spark.\ud800": [["DAG_CONFIG", "conf", "\udfff"]]}))

    assert (row.configs[0].key, row.configs[0].value) == ("spark.?", "?")


def test_a_record_of_a_later_version_says_so():
    assert [row.is_later for row in rows(document(format=1), document(format=2))] == [False, True]


AT = "2026-11-23 17:00:00.5+00"
FIRST, SECOND = 0, 1
"""The tables."""


def record(run: str = "r1", value: str = "1") -> Any:
    return record_of([ConfigLayer(ConfigSource.DAG_CONFIG, "conf", {"spark.a": value})], run=run)


def entry_rows(run: str, place: int, entries: dict[str, Any], at: str = AT) -> list[StoredEntry]:
    of = ("flights", "report", run, -1, 1)
    return [StoredEntry(*of, place, key, at, json.dumps(value)) for key, value in entries.items()]


def name(run: str) -> str:
    return name_of(TaskTry("flights", "report", run))


def test_the_entries_of_each_try_become_its_record():
    entries = [row for run in ("r1", "r2") for row in entry_rows(run, FIRST, packed(record(run)))]

    assert list(contents_of(entries)) == [(name(run), written(record(run))) for run in ("r1", "r2")]


def test_a_record_in_the_first_table_counts():
    stored, other = record(value="first"), record(value="second")

    assert list(contents_of([*entry_rows("r1", FIRST, packed(stored)), *entry_rows("r1", SECOND, packed(other))])) == [
        (name("r1"), written(stored))
    ]


def test_a_record_in_the_second_table_counts_if_the_first_has_only_parts():
    entries = [*entry_rows("r1", FIRST, {f"{record_key(1)}_part2": "x"}), *entry_rows("r1", SECOND, packed(record()))]

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

    found = list(contents_of([broken, *entry_rows("r2", FIRST, packed(record("r2")))]))

    assert found == [(name("r1"), b""), (name("r2"), written(record("r2")))]


def test_the_time_of_a_record_is_that_of_the_first_table():
    entries = [*entry_rows("r1", FIRST, {"k": 1}, "1970-01-01 02:00:00.000001+02"), *entry_rows("r1", SECOND, {"k": 1})]

    assert list(times_of("", entries)) == [(name("r1"), 1)]


def test_only_records_since_a_day_have_a_time():
    entries = [
        *entry_rows("r1", FIRST, {"k": 1}, "2026-11-22 23:59:59"),
        *entry_rows("r2", FIRST, {"k": 1}, "2026-11-23 00:00:00"),
    ]

    assert [found for found, _ in times_of("2026-11-23", entries)] == [name("r2")]


def test_the_patterns_are_those_of_the_keys_that_are_read():
    first, *_ = keys = keys_of(17)

    assert re.fullmatch(FIRST_KEY, first)
    assert [re.fullmatch(ANY_KEY, key)[1] for key in keys] == ["17"] * len(keys)  # type: ignore[index]


@pytest.mark.parametrize("end", ["", "_0", "_01", "_1_part1", "_1_part02", "_1_part201", "_1_jobs", f"_{10**9}"])
def test_other_keys_are_not_read(end: str):
    assert not re.fullmatch(ANY_KEY, f"config_providers_record{end}")
