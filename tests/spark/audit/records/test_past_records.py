"""Records are read once, each try counts once, and whatever others write there ends no audit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from airflow_config_providers.job.records.record import written
from airflow_config_providers.job.records.table import rows_of
from airflow_config_providers.spark.audit.records import past_records
from airflow_config_providers.spark.audit.records.past_records import (
    PastRecords,
    RecordFilter,
    RecordReader,
    restored,
    ticking,
)
from airflow_config_providers.spark.audit.records.record_tables import Content
from airflow_config_providers.spark.audit.records.runs import runs_of
from tests.limits import eventually
from tests.spark.audit.records.past import DAG_LAYER, Past, read, record_of, tries

pytestmark = pytest.mark.slow


KILLED = """
import sys
from pathlib import Path
from airflow_config_providers.job.records.table import rows_of
from airflow_config_providers.spark.audit.records.past_records import CONFIGS, RecordFilter, RecordReader
from airflow_config_providers.spark.audit.session import audit_session
from tests.spark.audit.records.past import QUICK

with audit_session("local[2]", {**CONFIGS, **QUICK}) as session:
    RecordReader(session, rows_of, sys.argv[2], round_files=10).of_files(sys.argv[1], RecordFilter())
"""
"""Reads records, and is killed meanwhile."""

ONE = ("flights", "report", "r1", 1)
TWO = ("flights", "report", "r2", 1)


def problems(records: Any) -> dict[str, str]:
    return {Path(file).name: problem for file, problem in records.unread.items()}


ODD_RUN = "manual__2026-11-01T00:00:00+00:00#?" + "y" * 300


@dataclass(frozen=True)
class Mixed:
    """What one audit has read of a folder in which there is much beside usual records."""

    records: PastRecords
    rows: Mapping[tuple[str, str], Any]

    def configs(self, run: str, dag: str = "flights") -> list[tuple[Any, ...]]:
        return [tuple(one) for one in self.rows[dag, run].configs]


@pytest.fixture(scope="module")
def mixed(session: Any, tmp_path_factory: pytest.TempPathFactory) -> Mixed:
    past = Past(tmp_path_factory.mktemp("mixed") / "records")
    past({"spark.a": "1"}, run="r1")
    past({"spark.a": "2"}, run="r2", day=2)
    past({"spark.a": "1"}, dag="a/b c%", task="{x}*", run=ODD_RUN)
    past({"spark.a": "first"}, run="twice", hour=1, day=1)
    past({"spark.a": "second"}, run="twice", hour=1, day=2)
    past({}, run="later", format=2)
    past.text("[" * 100_000, "deep")
    with past.text("", "large").open("wb") as file:
        file.truncate(past_records.LARGEST_FILE + 1)
    day = past.folder / "day=2026-11-01"
    os.mkfifo(day / "pipe.jsonl")
    (day / "link.jsonl").symlink_to("/nowhere")
    (day / "x=1" / "y=2").mkdir(parents=True)
    (day / "x=1" / "y=2" / "z.jsonl").write_text("{")
    surrogates = {"spark.\ud800": [["DAG_CONFIG", "conf\x1b[31m", "\0<script>"]]}
    past.text(json.dumps({**record_of([], run="surrogates").document(), "configs": surrogates}), "surrogates")
    found = read(session, past)
    return Mixed(found, {(row.dag, row.run): row for row in found.frame.collect()})


def test_a_folder_whose_name_has_characters_of_patterns_is_read(session: Any, tmp_path: Path) -> None:
    past = Past(tmp_path / "[old] *{a,b}\\c")
    past({"spark.a": "1"})

    for _ in range(2):  # the second time, it comes from what is kept
        assert tries(read(session, past, tmp_path / "[kept]")) == [ONE]


def test_each_record_is_a_row(mixed: Mixed):
    runs = ("later", "r1", "r2", "surrogates", "twice")

    assert tries(mixed.records) == [
        ("a/b c%", "{x}*", ODD_RUN, 1),
        *(("flights", "report", run, 1) for run in runs),
    ]


def test_names_with_odd_characters_are_read(mixed: Mixed):
    assert mixed.rows["a/b c%", ODD_RUN].task == "{x}*"


def test_of_two_records_of_a_try_the_later_counts(mixed: Mixed):
    assert [value for *_, value, _, _ in mixed.configs("twice")] == ["second"]


def test_what_is_no_record_is_named_and_the_others_are_read(mixed: Mixed):
    assert problems(mixed.records)["deep.jsonl"] == "Line 1 is no record."
    assert ("flights", "r1") in mixed.rows


def test_a_file_that_is_too_large_is_named_and_not_read(mixed: Mixed):
    assert problems(mixed.records)["large.jsonl"] == "It is too large to be a record."


def test_pipes_and_broken_links_are_passed_by(mixed: Mixed):
    assert not problems(mixed.records).keys() & {"pipe.jsonl", "link.jsonl"}
    assert ("flights", "r1") in mixed.rows


def test_odd_folders_do_not_end_the_audit(mixed: Mixed):
    assert ("flights", "r1") in mixed.rows


def test_only_what_is_no_record_is_named(mixed: Mixed):
    assert problems(mixed.records).keys() == {"deep.jsonl", "large.jsonl", "z.jsonl"}
    assert mixed.records.unread_count == 3


def test_lone_surrogates_and_control_characters_are_read(mixed: Mixed):
    ((key, _, _, _, value, _, _),) = mixed.configs("surrogates")

    assert (key, value) == ("spark.?", "\0<script>")


def test_records_of_a_later_version_are_counted(mixed: Mixed):
    assert ("flights", "later") in mixed.rows
    assert mixed.records.later_count == 1


def test_the_layer_of_a_record_is_that_of_its_dag(mixed: Mixed):
    assert mixed.configs("r1") == [("spark.a", 0, DAG_LAYER.name, "conf", "1", "spark.a", "")]


def test_two_records_are_read_without_problems(session: Any, past: Past):
    past({"spark.a": "1"}, run="r1")
    past({"spark.a": "2"}, run="r2", day=2)

    found = read(session, past)

    assert tries(found) == [ONE, TWO]
    assert (found.unread_count, found.later_count) == (0, 0)


def test_only_selected_days_and_dags_are_read(session: Any, past: Past):
    past({}, run="r1", day=1)
    past({}, run="r2", day=2)
    past({}, run="r2", day=2, dag="other")

    assert tries(read(session, past, since="2026-11-02", dag="flights")) == [TWO]


def test_files_outside_of_folders_of_days_are_read_if_there_are_no_others(session: Any, past: Past):
    past.folder.mkdir()
    lines = [written(record_of([], run=run)) for run in ("r1", "r2")]
    (past.folder / "exported.jsonl").write_bytes(b"\n".join(lines))

    assert tries(read(session, past)) == [ONE, TWO]


def test_a_file_beside_the_folders_of_days_is_named(session: Any, past: Past):
    past({})
    (past.folder / "lost.jsonl").write_bytes(written(record_of([], run="r2")))

    found = read(session, past)

    assert tries(found) == [ONE]
    assert problems(found) == {"lost.jsonl": "It is not below the folder of a day, as the other files are."}


def test_a_file_beside_the_folders_of_days_is_never_kept(session: Any, past: Past, tmp_path: Path):
    past({})
    (past.folder / "lost.jsonl").write_bytes(written(record_of([], run="r2")))

    for _ in range(2):
        found = read(session, past, tmp_path / "parquet")

    assert tries(found) == [ONE]
    assert list(problems(found)) == ["lost.jsonl"]


def test_a_second_run_reads_only_what_is_new(session: Any, past: Past, tmp_path: Path):
    first = past({"spark.a": "1"})
    read(session, past, tmp_path / "parquet")
    path = past.path_of(first)
    seen = path.stat()
    path.write_bytes(b"x" * (seen.st_size - 1) + b"\n")  # it would be noticed if it was read again
    os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    past({}, run="r2")

    found = read(session, past, tmp_path / "parquet")

    assert tries(found) == [ONE, TWO]
    assert found.unread_count == 0


def test_days_that_were_kept_before_a_failure_are_not_read_again(session: Any, past: Past, tmp_path: Path):
    for day in (1, 2):
        past({}, run=f"r{day}", day=day)
    read_days = tmp_path / "read"
    read_days.mkdir()

    def reading(contents: Any) -> Any:  # in executors
        for one in contents:
            (read_days / one.file.partition("/day=")[2][:10]).touch()
            if "day=2026-11-02" in one.file and not (read_days / "again").exists():
                raise ConnectionError
            yield from rows_of([one])

    reader = RecordReader(session, reading, str(tmp_path / "parquet"), round_files=1)
    with pytest.raises(Exception, match="ConnectionError"):
        reader.of_files(str(past.folder), RecordFilter())
    (read_days / "2026-11-01").unlink()
    (read_days / "again").touch()

    assert tries(reader.of_files(str(past.folder), RecordFilter())) == [ONE, TWO]
    assert sorted(path.name for path in read_days.iterdir()) == ["2026-11-02", "again"]


def test_an_audit_that_was_killed_is_completed_and_counts_nothing_twice(session: Any, past: Past, tmp_path: Path):
    for number in range(60):
        past({}, run=f"r{number:02}", day=1 + number % 6)
    parquet = tmp_path / "parquet"
    command = [sys.executable, "-c", KILLED, str(past.folder), str(parquet)]
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[4])}
    with subprocess.Popen(command, env=environ, start_new_session=True) as process:
        written_some = eventually(lambda: process.poll() is not None or any(parquet.rglob("*.parquet")))
        os.killpg(process.pid, signal.SIGKILL)

    found = read(session, past, parquet)

    assert written_some
    assert [run for _, _, run, _ in tries(found)] == [f"r{number:02}" for number in range(60)]
    assert found.unread_count == 0


def test_a_record_that_was_written_again_is_read_again(session: Any, past: Past, tmp_path: Path):
    past({"spark.a": "first"})
    read(session, past, tmp_path / "parquet")
    past({"spark.a": "second"})

    (row,) = read(session, past, tmp_path / "parquet").frame.collect()

    assert row.configs[0].value == "second"


def test_what_was_kept_stays_when_its_file_is_deleted(session: Any, past: Past, tmp_path: Path):
    past({})
    path = past.path_of(past({}, run="r2"))
    read(session, past, tmp_path / "parquet")
    path.unlink()

    assert tries(read(session, past, tmp_path / "parquet")) == [ONE, TWO]


def test_what_a_version_without_folders_of_bundles_has_kept_is_read(session: Any, past: Past, tmp_path: Path):
    past({"spark.a": "1"})
    read(session, past, tmp_path / "parquet")
    (table,) = (tmp_path / "parquet").glob("*/*")
    earlier = tmp_path / "earlier" / table.relative_to(tmp_path / "parquet")
    session.read.parquet(str(table)).drop("bundle_folder").write.partitionBy("day").parquet(str(earlier))

    (run,) = runs_of(read(session, past, tmp_path / "earlier").frame, None).collect()

    assert (run.configs[0].value, run.bundle_folder) == ("1", None)


def test_a_broken_file_is_named_until_it_is_mended_or_gone(session: Any, past: Past, tmp_path: Path):
    past({})
    path = past.text("{", "broken")

    before = read(session, past, tmp_path / "parquet")
    again = read(session, past, tmp_path / "parquet")
    path.unlink()
    after = read(session, past, tmp_path / "parquet")

    assert [one.unread_count for one in (before, again, after)] == [1, 1, 0]


def test_another_folder_has_a_table_of_its_own(session: Any, past: Past, tmp_path: Path):
    other = Past(tmp_path / "other")
    past({})
    other({}, run="r2")
    read(session, past, tmp_path / "parquet")

    assert tries(read(session, other, tmp_path / "parquet")) == [TWO]


class Database:
    """Records that the driver reads, in batches of one, which fails after some."""

    def __init__(self, runs: list[str], *, failing_at: int | None = None) -> None:
        self.known = {run: number for number, run in enumerate(runs, 1)}
        self.read: list[str] = []
        self._failing_at = failing_at

    def batches(self, names: Any) -> Any:
        for name in names:
            if len(self.read) == self._failing_at:
                raise ConnectionError
            self.read.append(name)
            yield [Content(name, self.known[name], 0, written(record_of([], run=name)))]


def of_database(session: Any, database: Database, parquet: object = "") -> Any:
    reader = RecordReader(session, rows_of, str(parquet))
    return reader.of_batches("database", database.known, database.batches, RecordFilter())


def test_records_that_the_driver_reads_are_rows(session: Any):
    assert tries(of_database(session, Database(["r1", "r2"]))) == [ONE, TWO]


def test_batches_that_were_kept_before_a_failure_are_not_read_again(session: Any, tmp_path: Path):
    failing, again = Database(["r1", "r2"], failing_at=1), Database(["r1", "r2"])
    with pytest.raises(ConnectionError):
        of_database(session, failing, tmp_path / "parquet")

    assert tries(of_database(session, again, tmp_path / "parquet")) == [ONE, TWO]
    assert (failing.read, again.read) == (["r1"], ["r2"])


def test_a_record_that_cannot_be_read_from_the_database_is_named(session: Any):
    database = Database(["r1"])
    database.batches = lambda names: iter([[Content("r1", 1, 0, b"")]])  # type: ignore[method-assign]

    assert of_database(session, database).unread == {"r1": "Line 1 is no record."}


PARTITIONS, ADAPTIVE = "spark.sql.shuffle.partitions", "spark.sql.adaptive.enabled"


def test_few_records_are_audited_without_what_pays_for_many_and_the_session_is_as_before(session: Any, past: Past):
    past({"spark.a": "1"})
    before = [session.conf.get(key) for key in (PARTITIONS, ADAPTIVE)]

    with restored(session):
        session.conf.set(ADAPTIVE, "true")  # as it is where nobody has changed it
        read(session, past)
        during = [session.conf.get(key) for key in (PARTITIONS, ADAPTIVE)]

    assert during == ["2", "false"]
    assert [session.conf.get(key) for key in (PARTITIONS, ADAPTIVE)] == before


def test_many_records_after_few_are_audited_with_what_pays_for_them(session: Any, past: Past, monkeypatch: Any):
    past({"spark.a": "1"})

    with restored(session):
        read(session, past)
        monkeypatch.setattr(past_records, "_FEW", 0)
        read(session, past)

        assert session.conf.get(PARTITIONS) == past_records.CONFIGS[PARTITIONS]
        assert session.conf.get(ADAPTIVE) == "true"


def test_records_of_a_day_are_kept_in_one_file_although_few_were_read_before(session: Any, past: Past, tmp_path: Path):
    for number in range(8):
        past({}, run=f"r{number}")

    with restored(session):
        read(session, past)
        read(session, past, tmp_path / "parquet")

    assert len([*(tmp_path / "parquet").rglob("*.parquet")]) == 1


def audit_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "audit-progress"]


@pytest.mark.parametrize("parquet", [False, True], ids=["read", "kept"])
def test_the_last_tick_has_all_files(session: Any, past: Past, parquet: bool):
    for number in range(3):
        past({}, run=f"r{number}")
    ticks = list[tuple[int, int]]()

    with ticking(session, lambda *now: ticks.append(now), every=0.01) as progress:
        kept = str(past.folder.parent / "parquet") if parquet else ""
        RecordReader(session, rows_of, kept, progress=progress).of_files(str(past.folder), RecordFilter())

    assert ticks[-1] == (3, 3)
    assert ticks == sorted(ticks)


def test_the_thread_ends_with_an_error_too(session: Any):
    seen = list[threading.Thread]()

    def fail() -> None:
        with ticking(session, lambda *now: None):
            seen.extend(audit_threads())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()

    assert len(seen) == 1
    assert audit_threads() == []


def test_without_a_terminal_there_is_no_thread(session: Any):
    with ticking(session, None) as progress:
        assert progress is None
        assert audit_threads() == []
