"""The record of one try: what it says, and that it holds no value, whatever is written into it or read from it."""

from __future__ import annotations

import base64
import importlib
import json
import zlib
from dataclasses import replace
from types import SimpleNamespace
from uuid import UUID

import pytest

from airflow_config_providers.core.layers import ConfigLayer, ConfigSource, LayeredConfig
from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.exceptions import LimitExceededError
from airflow_config_providers.foreign import TASK_RUNNER
from airflow_config_providers.job.records import entries as record_entries
from airflow_config_providers.job.records import record as record_module
from airflow_config_providers.job.records.entries import job_key, packed, record_key, tries_of, unpacked
from airflow_config_providers.job.records.record import (
    FORMAT,
    LONGEST_VALUE,
    RecordedValue,
    TaskTry,
    TryRecord,
    recorded,
    references_of,
)
from airflow_config_providers.spark.catalogue import spark_definition
from tests.canary import CANARY

PASSWORD = "${vault:apps/db:password}"
TASK = TaskTry("flights", "job", "run-1", -1, 2)


def settled(configs, **layers):
    """The settled configuration of a DAG with further layers by the name of their source."""
    others = [ConfigLayer(ConfigSource[name], name.lower(), of) for name, of in layers.items()]
    return LayeredConfig([ConfigLayer(ConfigSource.DAG_CONFIG, "conf", configs), *others], spark_definition())


def record(configs, **fields):
    layered = settled(configs)
    return TryRecord(TASK, "2026-11-23T17:00:00.000+00:00", recorded(layered), references_of(layered), **fields)


def same(text):
    return text


def test_a_key_has_all_its_values_the_winner_first():
    layered = settled({"spark.executor.memory": "1g"}, DYNAMIC_DAG_CONFIG={"spark.executor.memory": "8g"})

    assert recorded(layered)["spark.executor.memory"][:2] == [
        RecordedValue("DYNAMIC_DAG_CONFIG", "dynamic_dag_config", "8g"),
        RecordedValue("DAG_CONFIG", "conf", "1g"),
    ]


def test_a_key_that_a_layer_names_otherwise_keeps_that_name():
    values = [RecordedValue("DAG_CONFIG", "conf", "1g"), RecordedValue("STATIC_FILE_CONFIG", "f", "2g", "spark.older")]
    written = replace(record({}), configs={"spark.newer": values})

    assert unpacked(packed(written), TASK) == written


def test_the_older_name_of_a_key_is_recorded():
    layered = settled(
        {"spark.yarn.executor.memoryOverhead": "1g"}, STATIC_FILE_CONFIG={"spark.executor.memoryOverhead": "2g"}
    )
    names = {one.name for of in recorded(layered).values() for one in of}

    assert names & {"spark.yarn.executor.memoryOverhead", "spark.executor.memoryOverhead"}


def test_a_literal_under_a_sensitive_key_is_hidden():
    assert recorded(settled({"spark.app.db.password": CANARY}))["spark.app.db.password"][0].value is None


def test_a_reference_under_a_sensitive_key_is_shown():
    assert recorded(settled({"spark.app.db.password": PASSWORD}))["spark.app.db.password"][0].value == PASSWORD


def test_a_record_is_read_as_it_was_written():
    written = record(
        {"spark.app.url": PASSWORD, "spark.app.db.password": CANARY},
        key_id="ab",
        versions={"spark": "4.1.0"},
        policies=("bounds",),
        problems=("no",),
        notes=("a note",),
        follows=1,
        restarts=3,
        dag_file="/bundles/git/versions/c0ffee/flights.py",
    )
    entries = {**packed(written), job_key(2): "driver-1"}

    assert unpacked(json.loads(json.dumps(entries)), TASK) == replace(written, job="driver-1")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("<script>alert(1)</script>", id="html"),
        pytest.param("a\x00b\x1b[31m\r\n", id="control"),
        pytest.param("\ud800", id="half-pair"),
        pytest.param("🔑é", id="not-ascii"),
    ],
)
def test_any_name_and_value_survives(text):
    written = replace(record({}), configs={text: [RecordedValue(text, text, text)]}, references={text: None})

    assert unpacked(packed(written.clean(same, same)), TASK) == written


def test_a_value_that_a_layer_has_as_a_literal_becomes_its_reference():
    reverser = ReverseTransformer({}, {ConfigVariable("vault", "apps/db", "password"): CANARY})
    cleaned = record({"spark.app.x": f"a {CANARY} b", "spark.app.y": "c"}).clean(
        reverser.reverse_text, reverser.reverse_text
    )

    assert cleaned.configs["spark.app.x"][0].value == f"a {PASSWORD} b"
    assert cleaned.configs["spark.app.y"][0].value == "c"


def test_a_long_literal_is_cut_after_it_was_cleaned():
    """Cut before, the beginning of a value would remain and nobody would recognize it."""
    reverser = ReverseTransformer({}, {ConfigVariable("vault", "apps/db", "password"): CANARY})
    text = "x" * (LONGEST_VALUE - 5) + CANARY + "y" * 100
    cleaned = record({"spark.app.x": text}).clean(reverser.reverse_text, reverser.reverse_text)
    shown = cleaned.configs["spark.app.x"][0].value

    assert "c4nar" not in shown
    assert f"({len(text) - len(CANARY) + len(PASSWORD)} characters, SHA-256 " in shown


def test_two_long_literals_that_end_differently_differ():
    one, other = (record({"spark.app.x": "x" * 3000 + end}).clean(same, same) for end in "ab")

    assert one.configs != other.configs


def test_a_large_record_is_kept_in_parts_below_the_limit_of_airflow():
    noise = {f"spark.app.key{n}": str(hash((n, "noise"))) * 10 for n in range(10_000)}
    written = record(noise)
    entries = packed(written)

    assert len(entries) > 1
    assert list(entries)[-1] == record_key(2)
    assert max(len(json.dumps(entry)) for entry in entries.values()) < 65_535
    assert unpacked(entries, TASK) == written


def test_a_record_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(record_entries, "_MOST_PARTS", 0)

    with pytest.raises(LimitExceededError):
        packed(record({"spark.app.x": "1"}))


def test_a_record_of_a_later_version_is_read_as_far_as_it_is_known():
    document = record({"spark.app.x": "1"}).document()
    document |= {"format": FORMAT + 1, "unknown": {"a": 1}, "restarts": "many"}
    document["configs"]["spark.app.x"][0] += ["", {"more": 1}]
    read = TryRecord.read(document, TASK)

    assert read.configs["spark.app.x"][0].value == "1"
    assert read.restarts == 0
    assert read.notes[-1].startswith("A later version of airflow-config-providers wrote this record.")


def test_a_record_of_an_earlier_version_has_no_folder_of_a_bundle():
    file, versions = "/bundles/git/versions/c0ffee/flights.py", {"bundle": "git", "bundle_version": "c0ffee"}
    document = record({}, versions=versions, dag_file=file).document()
    del document["dag_file"]
    read = TryRecord.read(document, TASK)

    assert (read.bundle_folder, read.unversioned(file)) == ("", file)


def test_the_path_of_the_dag_file_is_cleaned():
    cleaned = record({}, dag_file=f"/bundles/{CANARY}.py").clean(same, lambda text: text.replace(CANARY, "***"))

    assert cleaned.dag_file == "/bundles/***.py"


def opened(text):
    return base64.b64encode(zlib.compress(text)).decode()


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param("text", id="a-string"),
        pytest.param({"parts": 1, "data": "!"}, id="not-base64"),
        pytest.param({"parts": 1, "data": "aaaa"}, id="not-compressed"),
        pytest.param({"parts": 2, "data": opened(b"{}")}, id="a-part-is-missing"),
        pytest.param({"parts": True, "data": opened(b"{}")}, id="parts-is-true"),
        pytest.param({"parts": 10**9, "data": opened(b"{}")}, id="a-billion-parts"),
        pytest.param({"parts": 1, "data": opened(b"[" * 100_000)}, id="nested-too-deep"),
        pytest.param({"parts": 1, "data": opened(b"[]")}, id="a-list"),
        pytest.param({"parts": 1, "data": opened(b'{"configs": []}')}, id="configs-is-a-list"),
    ],
)
def test_what_is_no_record_is_not_read(entry):
    assert unpacked({record_key(2): entry}, TASK) is None


@pytest.mark.parametrize(
    ("limit", "padding"),
    [
        pytest.param("LARGEST", b" " * 2000, id="many-bytes"),
        pytest.param("_MOST_VALUES", b"[" + b"{}," * 700 + b"{}]", id="many-objects"),
        pytest.param("_MOST_VALUES", b"[" + b'"",' * 1000 + b'""]', id="many-strings"),
    ],
)
def test_a_compressed_record_that_would_fill_the_memory_is_not_read(monkeypatch, limit: str, padding: bytes):
    """The objects of 120 MB of ``{},``, which are 120 KB compressed, take 3 GB."""
    monkeypatch.setattr(record_module, limit, 1000)
    monkeypatch.setattr(record_entries, "LARGEST", record_module.LARGEST)
    text = b'{"configs": {}, "x": ' + (padding if padding.strip() else b"1" + padding) + b"}"

    assert unpacked({record_key(2): {"parts": 1, "data": opened(text)}}, TASK) is None


@pytest.mark.parametrize("limit", ["LARGEST", "_MOST_VALUES"])
def test_a_record_that_could_not_be_read_again_is_refused(monkeypatch, limit: str):
    monkeypatch.setattr(record_module, limit, 10)

    with pytest.raises(LimitExceededError):
        packed(record({"spark.app.x": "1"}))


def test_ten_thousand_keys_in_five_layers_are_kept():
    value = RecordedValue("DYNAMIC_TASK_CONFIG", "dynamic configuration of task 'a' of DAG 'b', version 7", "a,b")
    written = replace(record({}), configs={f"spark.app.key{n}": [value] * 5 for n in range(10_000)})

    assert unpacked(packed(written), TASK) == written


def test_a_long_value_that_others_have_written_is_cut():
    document = record({"spark.app.x": "1"}).document()
    document["configs"]["spark.app.x"][0][2] = "x" * 100_000

    value = TryRecord.read(document, TASK).configs["spark.app.x"][0].value
    assert value.startswith("x" * LONGEST_VALUE + "... (100000 characters")


def test_the_tries_that_have_a_record_are_found_the_last_one_first():
    keys = [record_key(1), job_key(3), f"{record_key(4)}_part2", record_key(10), "spark_job_id", f"{record_key(2)}x"]

    assert tries_of(keys) == [10, 1]


REGION = UUID("01a0b1c2-d3e4-7567-89ab-cdef01234567")
PLAIN = {"dag_id": "d", "task_id": "t", "run_id": "r", "try_number": 2}


@pytest.mark.parametrize(
    ("instance", "index", "region"),
    [
        ({}, -1, ""),
        ({"map_index": 3}, 3, ""),
        ({"map_index": -1, "region_id": UUID(int=0), "region_index": -1}, -1, ""),
        ({"map_index": 3, "region_id": REGION, "region_index": 3}, 3, ""),
        ({"map_index": -1, "region_id": REGION, "region_index": 1}, 1, REGION.hex),
        (
            {
                "map_index": 3,
                "region_id": REGION,
                "region_index": 3,
                "_ti_context_from_server": SimpleNamespace(loop=[]),
            },
            3,
            REGION.hex,
        ),
    ],
    ids=["before 3.4", "mapped, before 3.4", "3.4", "mapped, 3.4", "in a loop", "mapped, in a loop"],
)
def test_a_try_knows_its_iteration_of_a_loop(instance, index, region):
    importlib.import_module(TASK_RUNNER)

    assert TaskTry.of(SimpleNamespace(**PLAIN, **instance)) == TaskTry("d", "t", "r", index, 2, region)


def test_only_a_record_of_a_loop_names_its_region():
    plain, looped = (TryRecord(TaskTry("d", "t", "r", 1, 1, region), "").document() for region in ("", REGION.hex))

    assert looped == {**plain, "region": REGION.hex}
    assert "region" not in plain
