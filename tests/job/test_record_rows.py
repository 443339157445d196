"""Records as rows: nothing that others write into one is trusted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from airflow_config_providers.core.layers import ConfigLayer, ConfigSource, LayeredConfig
from airflow_config_providers.job.record import TaskTry, TryRecord, recorded
from airflow_config_providers.job.record_rows import rows_of
from airflow_config_providers.job.record_store import place_of
from airflow_config_providers.spark.audit.record_row import Content, RecordRow, ValueRow

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
