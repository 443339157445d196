"""Files of records."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_config_providers.exceptions import ProviderUnavailableError
from airflow_config_providers.job.records.files import RecordFiles, place_of
from airflow_config_providers.job.records.record import RecordedValue, TaskTry, TryRecord

TASK = TaskTry("flights", "job", "manual__2026-11-23T17:00:00+00:00", -1, 1)
RECORD = TryRecord(TASK, "2026-11-23T17:00:00.000+00:00", {"spark.app.x": [RecordedValue("DAG_CONFIG", "conf", "1")]})


@pytest.fixture
def files(tmp_path):
    return RecordFiles(f"file://{tmp_path}")


def all_files(folder: Path):
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_try_has_one_file_of_one_line_in_folders_by_day_dag_and_task(files, tmp_path):
    files.write(RECORD)
    files.write(replace(RECORD, job="driver-1"))
    (path,) = all_files(tmp_path)
    (line,) = path.read_text().splitlines()

    assert str(path.parent.relative_to(tmp_path)) == "day=2026-11-23/dag=flights/task=job"
    assert json.loads(line)["job"] == "driver-1"


def test_a_record_is_read_as_it_was_written(files):
    files.write(RECORD)

    assert files.read(TASK) == RECORD


def test_another_try_run_or_instance_has_another_file(files):
    files.write(RECORD)

    assert files.read(replace(TASK, try_number=2)) is None
    assert files.read(replace(TASK, run_id="other")) is None
    assert files.read(replace(TASK, map_index=0)) is None


def test_the_tries_are_listed_the_last_one_first(files):
    for number in (1, 2, 10):
        files.write(replace(RECORD, task=replace(TASK, try_number=number)))

    assert files.tries(TASK) == [10, 2, 1]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("../../etc", id="upwards"),
        pytest.param("..", id="parent"),
        pytest.param("a/b\\c", id="separators"),
        pytest.param("*?[a]", id="pattern"),
        pytest.param("<b>\n\x00", id="html-and-control"),
        pytest.param("é" * 250, id="long"),
    ],
)
def test_no_name_leads_out_of_its_folder(files, tmp_path, name):
    task = TaskTry(name, name, name)
    files.write(replace(RECORD, task=task))
    (path,) = all_files(tmp_path)

    assert len(path.relative_to(tmp_path).parts) == 4
    assert files.read(task).task == task
    assert files.read(replace(task, run_id="x")) is None


def test_no_name_is_that_of_the_file_of_a_longer_one(files, tmp_path):
    """A DAG of this name could read the record of another one."""
    files.write(replace(RECORD, task=replace(TASK, dag_id="d" * 200)))
    (path,) = all_files(tmp_path)
    name = path.parent.parent.name.removeprefix("dag=")
    files.write(replace(RECORD, task=replace(TASK, dag_id=name), job="of the other"))

    assert len(name) < 160
    assert files.read(replace(TASK, dag_id="d" * 200)).job is None


def test_a_write_that_fails_leaves_nothing_behind(files, tmp_path, monkeypatch):
    files.write(RECORD)
    monkeypatch.setattr(Path, "replace", None)
    with pytest.raises(TypeError):
        files.write(replace(RECORD, job="driver-1"))

    assert len(all_files(tmp_path)) == 1
    assert files.read(TASK).job is None


def test_a_store_that_cannot_be_read_is_unavailable():
    with pytest.raises(ProviderUnavailableError, match="records_path cannot be read"):
        RecordFiles("nosuchscheme://bucket/records").read(TASK)


MANY = '{"configs": {}, "x": [' + "{}," * 500_000 + "{}]}"


@pytest.mark.parametrize(
    "content",
    [pytest.param("", id="empty"), pytest.param('{"con', id="cut-off"), pytest.param(MANY, id="many-objects")],
)
def test_a_file_that_is_no_record_is_none(files, tmp_path, content):
    files.write(RECORD)
    all_files(tmp_path)[0].write_text(content)

    assert files.read(TASK) is None


@pytest.mark.parametrize("kind", ["pipe", "device", "link"])
def test_what_is_no_file_below_the_folder_is_not_read(files, tmp_path, kind):
    files.write(RECORD)
    (path,) = all_files(tmp_path)
    other = path.rename(tmp_path / "elsewhere")
    inner = RecordFiles(f"{files.path}/inner")
    place = tmp_path / "inner" / path.relative_to(tmp_path)
    place.parent.mkdir(parents=True)
    if kind == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to("/dev/zero" if kind == "device" else other)

    assert inner.read(TASK) is None


def test_a_folder_of_records_can_be_a_link(files, tmp_path):
    files.write(RECORD)
    (tmp_path.parent / f"{tmp_path.name}-link").symlink_to(tmp_path)

    assert RecordFiles(f"{files.path}-link").read(TASK) == RECORD


def test_only_the_folders_of_the_task_are_listed(files, tmp_path, monkeypatch):
    for number in range(20):
        files.write(replace(RECORD, task=replace(TASK, task_id=f"t{number}")))
    listed: list[str] = []
    scan = os.scandir
    monkeypatch.setattr("os.scandir", lambda path: listed.append(str(path)) or scan(path))

    assert files.read(replace(TASK, task_id="t7")) is not None
    assert [path for path in listed if "task=" in path and "task=t7" not in path] == []


def test_a_file_in_place_of_a_folder_is_passed_over(files, tmp_path):
    files.write(RECORD)
    (tmp_path / "day=9999-12-31").write_text("x")
    (tmp_path / "day=9999-12-30").mkdir()
    (tmp_path / "day=9999-12-30" / "dag=flights").write_text("x")

    assert files.read(TASK) == RECORD


def test_each_iteration_of_a_loop_has_its_own_file(files):
    iterations = [TaskTry("d", "t", "r", index, 1, region) for index in (0, 1) for region in ("", "a" * 32, "b" * 32)]
    for number, task in enumerate(iterations):
        files.write(TryRecord(task, "2026-11-23", references={str(number): None}))

    assert [[*files.read(task).references] for task in iterations] == [[str(number)] for number in range(6)]
    assert [files.tries(task) for task in iterations] == [[1]] * 6


def test_outside_of_loops_a_path_has_no_region():
    assert place_of(TaskTry("d", "t", "r", 3, 2)) == "dag=d/task=t/run=r,map=3,try=2.jsonl"
    assert place_of(TaskTry("d", "t", "r", 3, 2, "a" * 32)) == f"dag=d/task=t/run=r,map=3,region={'a' * 32},try=2.jsonl"
