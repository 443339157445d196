"""The audit as a Spark job."""

from __future__ import annotations

import gc
import gzip
import io
import json
import lzma
import os
import stat
import subprocess
import sys
import tarfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

import pyarrow as pa
from pyarrow import parquet

from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.exceptions import ConfigException, ProviderUnavailableError
from airflow_config_providers.spark.audit.leaks import leak_audit, object_store
from airflow_config_providers.spark.audit.leaks.database_search import TextDatabase, TextTable
from airflow_config_providers.spark.audit.leaks.file_blocks import hash_of_ends
from airflow_config_providers.spark.audit.leaks.file_listing import SPLIT, FileListing, FoundFile
from airflow_config_providers.spark.audit.leaks.fingerprint import FingerprintKey
from airflow_config_providers.spark.audit.leaks.leak import Found, iso_moment
from airflow_config_providers.spark.audit.leaks.leak_audit import (
    LeakAudit,
    LeakRequest,
    SentToExecutors,
    Work,
    _finder,
    audit_leaks,
)
from airflow_config_providers.spark.audit.leaks.leak_finder import KnownSecret
from airflow_config_providers.spark.audit.leaks.leak_report import Baseline, LeakReport, page, summary
from airflow_config_providers.spark.audit.leaks.object_clients import FsspecObjects
from airflow_config_providers.spark.audit.leaks.object_store import ObjectStore
from airflow_config_providers.spark.audit.leaks.reversed_copies import target_of
from airflow_config_providers.spark.audit.leaks.seen_files import SearchedFile, SeenFiles, locked
from airflow_config_providers.spark.audit.leaks.sought import Sought
from airflow_config_providers.spark.audit.session import audit_session
from tests.spark.audit.leaks.compressing import COMPRESSED
from tests.spark.audit.leaks.searching import QUIET

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("jvm")]

PASSWORD = ConfigVariable("vault", "apps/db", "password")
VALUE = "c4nary-Pa$$w0rd/of+the=audit"
KEY = FingerprintKey(b"the key of the fingerprints .....")
SOUGHT = Sought([KnownSecret(PASSWORD, VALUE)], key=KEY)
MARGIN = 1000


@pytest.fixture(scope="module")
def session(jvm: None) -> Iterator[Any]:
    with audit_session("local[2]") as found:
        yield found


@pytest.fixture(scope="module")
def audit(session: Any) -> Iterator[LeakAudit]:
    found = LeakAudit(session, SOUGHT)
    yield found
    found.close()


def run(audit: LeakAudit, folder: Path, seen: SeenFiles | None = None) -> LeakReport:
    listing = FileListing.of([str(folder)])
    work = Work.of(listing, seen.files if seen else {}, margin=MARGIN, key=KEY)
    report = LeakReport()
    for one in work.unchanged:
        report.add(one)
    for some in audit.run(work):
        report.add_all(some, seen)
    report.leaks.sort()
    return report


def places(report: LeakReport) -> list[tuple[str, int, int]]:
    return [(Path(leak.file).name, leak.offset, leak.line) for leak in report.leaks]


def test_leaks_of_many_files_are_found_with_their_places(audit: LeakAudit, tmp_path: Path) -> None:
    for number in range(300):
        text = QUIET * 3 + (VALUE.encode() if number % 100 == 7 else b"")
        (tmp_path / f"{number:03}.log").write_bytes(text)

    report = run(audit, tmp_path)

    assert places(report) == [(f"{number}07.log", 3 * len(QUIET), 4) for number in range(3)]
    assert (report.files, report.octets) == (300, 300 * 3 * len(QUIET) + 3 * len(VALUE))


def test_line_numbers_count_on_over_the_splits_of_a_large_file(audit: LeakAudit, tmp_path: Path) -> None:
    lines = 1_300_000  # more than one split
    with (tmp_path / "large.log").open("wb") as file:
        file.write(QUIET * lines)
        file.write(VALUE.encode() + b"\n")

    assert places(run(audit, tmp_path)) == [("large.log", lines * len(QUIET), lines + 1)]


def test_rows_of_parquet_count_on_over_the_splits_of_a_large_file(audit: LeakAudit, tmp_path: Path) -> None:
    text, rows = QUIET.decode() * 1_000, 1_500  # more than one split
    messages = [text + (VALUE if row in {0, rows - 1} else "") for row in range(rows)]
    table = pa.table({"level": ["INFO"] * rows, "message": messages})
    options = {"compression": "none", "use_dictionary": False, "write_statistics": False, "row_group_size": 70}
    parquet.write_table(table, tmp_path / "a.parquet", **options)

    report = run(audit, tmp_path)

    assert (tmp_path / "a.parquet").stat().st_size > SPLIT
    assert places(report) == [("a.parquet", len(text), 1), ("a.parquet", len(text), rows)]
    assert {leak.column for leak in report.leaks} == {"message"}
    assert len({leak.id for leak in report.leaks}) == 2
    assert not report.unread


def test_broken_files_are_named_and_the_others_are_searched(audit: LeakAudit, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(VALUE)
    (tmp_path / "b.gz").write_bytes(gzip.compress(os.urandom(1000))[:-5])

    report = run(audit, tmp_path)

    assert places(report) == [("a.log", 0, 1)]
    assert {Path(path).name: why for path, why in report.unread.items()} == {
        "b.gz": "Its compressed content ends too early."
    }


def test_objects_are_searched_and_copied_by_executors(tmp_path: Path) -> None:
    """The store is sent to them. Its objects are files here, so that all processes have the same."""
    from fsspec.implementations.local import LocalFileSystem

    store = ObjectStore("kept://logs_store@bucket", FsspecObjects(LocalFileSystem(), str(tmp_path / "bucket")))
    logs = tmp_path / "bucket" / "logs"
    logs.mkdir(parents=True)
    for number in range(30):
        (logs / f"{number:02}.log").write_bytes(QUIET + VALUE.encode() * (number == 7))
    with (logs / "large.log").open("wb") as file:
        file.seek(SPLIT - 5)
        file.write(VALUE.encode() + QUIET)
    request = LeakRequest([f"{store.root}/logs"], reversed_copy=str(tmp_path / "copies"), master="local[2]")

    report = audit_leaks(request, SOUGHT, stores=[store])

    assert [(leak.file, leak.offset) for leak in report.leaks] == [
        (f"{store.root}/logs/07.log", len(QUIET)),
        (f"{store.root}/logs/large.log", SPLIT - 5),
    ]
    assert report.unread == {}
    assert (tmp_path / "copies" / "logs" / "07.log").read_bytes() == QUIET + str(PASSWORD).encode()


def test_workers_do_not_go_through_a_finder_after_each_task_and_let_it_go_for_another(session: Any) -> None:
    def frozen(_: int) -> list[Any]:
        sent = SentToExecutors(SOUGHT)
        other = SentToExecutors(Sought([KnownSecret(PASSWORD, "another-Pa$$w0rd")]))
        first = _finder(sent)
        count, kept = gc.get_freeze_count(), weakref.ref(first)
        del first
        _finder(other)
        gc.collect()
        return [count > 0, kept() is None]

    assert session.sparkContext.parallelize([0], 1).flatMap(frozen).collect() == [True, True]


def test_a_worker_has_neither_values_nor_credentials_when_the_audit_was_closed(session: Any, tmp_path: Path) -> None:
    def kept(_: int) -> list[object]:
        secrets = [one for one in gc.get_objects() if isinstance(one, KnownSecret)]
        return [*leak_audit._made, *object_store._mounted, *secrets]

    from fsspec.implementations.local import LocalFileSystem

    store = ObjectStore("kept://bucket", FsspecObjects(LocalFileSystem(), str(tmp_path)))
    (tmp_path / "a.log").write_text(VALUE)
    with closing(LeakAudit(session, SOUGHT, stores=[store])) as audit:
        assert len(run(audit, tmp_path).leaks) == 1

    assert session.sparkContext.parallelize(range(2), 2).flatMap(kept).collect() == []


def test_copies_show_references_and_are_the_same_otherwise(audit: LeakAudit, tmp_path: Path) -> None:
    content = QUIET + b"\xff\x00 pw=" + VALUE.encode() + b"\r\n" + QUIET
    (tmp_path / "in" / "x").mkdir(parents=True)
    (tmp_path / "in" / "x" / "a.log").write_bytes(content)
    (tmp_path / "in" / "b.gz").write_bytes(gzip.compress(content))

    problems = audit.copy(
        FileListing.of([str(tmp_path / "in")]).files,
        lambda path: tmp_path / "out" / os.path.relpath(path, tmp_path / "in"),
    )

    expected = content.replace(VALUE.encode(), str(PASSWORD).encode())
    assert problems == {}
    assert (tmp_path / "out" / "x" / "a.log").read_bytes() == expected
    assert gzip.decompress((tmp_path / "out" / "b.gz").read_bytes()) == expected


class TestSeenFiles:
    def test_the_next_audit_reads_only_what_is_new(self, audit: LeakAudit, tmp_path: Path) -> None:
        logs = tmp_path / "logs"
        logs.mkdir()
        (logs / "a.log").write_text(VALUE)
        run(audit, logs, SeenFiles.open(str(tmp_path / "state"), SOUGHT))
        (logs / "b.log").write_text(f"x {VALUE}")

        report = run(audit, logs, SeenFiles.open(str(tmp_path / "state"), SOUGHT))

        assert places(report) == [("a.log", 0, 1), ("b.log", 2, 1)]
        assert report.read == 1

    def test_of_a_grown_file_only_the_end_is_read(self, audit: LeakAudit, tmp_path: Path) -> None:
        logs = tmp_path / "logs"
        logs.mkdir()
        (logs / "a.log").write_bytes(VALUE.encode() + b"\n" + QUIET * 100 + VALUE[:10].encode())
        run(audit, logs, SeenFiles.open(str(tmp_path / "state"), SOUGHT))
        with (logs / "a.log").open("ab") as file:
            file.write(VALUE[10:].encode() + b"\n" + VALUE.encode())

        seen = SeenFiles.open(str(tmp_path / "state"), SOUGHT)
        work = Work.of(FileListing.of([str(logs)]), seen.files, margin=MARGIN, key=KEY)
        report = run(audit, logs, seen)

        second = len(VALUE) + 1 + 100 * len(QUIET)
        assert work.octets < 2 * MARGIN
        assert places(report) == [("a.log", 0, 1), ("a.log", second, 102), ("a.log", second + len(VALUE) + 1, 103)]
        assert report.octets == (logs / "a.log").stat().st_size

    def test_the_content_of_a_short_file_cannot_be_guessed_from_the_state(
        self, audit: LeakAudit, tmp_path: Path
    ) -> None:
        logs = tmp_path / "logs"
        logs.mkdir()
        (logs / "a.log").write_bytes(b"pin=4711")
        seen = SeenFiles.open(str(tmp_path / "state"), SOUGHT)
        run(audit, logs, seen)
        seen.compact(set(seen.files))

        [part] = (tmp_path / "state").glob("seen-*")
        assert hash_of_ends(b"pin=4711") not in part.read_text()
        assert json.loads(part.read_text())[-1] == KEY.of_ends(hash_of_ends(b"pin=4711"))

    def test_without_a_key_nothing_of_the_content_is_kept_and_a_grown_file_is_read_as_a_whole(
        self, audit: LeakAudit, tmp_path: Path
    ) -> None:
        logs, keyless = tmp_path / "logs", replace(SOUGHT, key=None)
        logs.mkdir()
        (logs / "a.log").write_bytes(b"pin=4711\n" + QUIET * 100)
        run(audit, logs, SeenFiles.open(str(tmp_path / "state"), keyless))
        with (logs / "a.log").open("ab") as file:
            file.write(QUIET)

        seen = SeenFiles.open(str(tmp_path / "state"), keyless)
        work = Work.of(FileListing.of([str(logs)]), seen.files, margin=MARGIN, key=None)

        assert [one.found.ends for one in seen.files.values()] == [""]
        assert (work.octets, work.grown) == ((logs / "a.log").stat().st_size, {})

    def test_a_file_that_was_replaced_is_read_again(self, audit: LeakAudit, tmp_path: Path) -> None:
        logs = tmp_path / "logs"
        logs.mkdir()
        (logs / "a.log").write_bytes(VALUE.encode() + QUIET)
        run(audit, logs, SeenFiles.open(str(tmp_path / "state"), SOUGHT))
        (logs / "a.log").write_bytes(QUIET * 10)

        assert places(run(audit, logs, SeenFiles.open(str(tmp_path / "state"), SOUGHT))) == []

    def test_a_file_with_another_beginning_and_the_same_end_is_read_as_a_whole(
        self, audit: LeakAudit, tmp_path: Path
    ) -> None:
        logs = tmp_path / "logs"
        logs.mkdir()
        (logs / "a.log").write_bytes(QUIET * 1_000)
        run(audit, logs, SeenFiles.open(str(tmp_path / "state"), SOUGHT))
        (logs / "a.log").write_bytes(VALUE.encode().ljust(len(QUIET) - 1) + b"\n" + QUIET * 1_000)

        assert places(run(audit, logs, SeenFiles.open(str(tmp_path / "state"), SOUGHT))) == [("a.log", 0, 1)]

    def test_a_file_that_was_replaced_by_one_of_the_same_size_and_time_is_read_again(
        self, audit: LeakAudit, tmp_path: Path
    ) -> None:
        logs = tmp_path / "logs"
        logs.mkdir()
        (logs / "a.log").write_bytes(b"x" * len(VALUE))
        status = (logs / "a.log").stat()
        run(audit, logs, SeenFiles.open(str(tmp_path / "state"), SOUGHT))
        (logs / "a.log").write_text(VALUE)
        os.utime(logs / "a.log", ns=(status.st_atime_ns, status.st_mtime_ns))

        assert places(run(audit, logs, SeenFiles.open(str(tmp_path / "state"), SOUGHT))) == [("a.log", 0, 1)]

    @pytest.mark.parametrize(
        "fields", [pytest.param(itemgetter(0), id="changed"), pytest.param(lambda row: row, id="ends")]
    )
    def test_a_file_of_which_an_older_state_has_less_is_read_again(
        self, audit: LeakAudit, tmp_path: Path, fields: Callable[[list[Any]], list[Any]]
    ) -> None:
        logs = tmp_path / "logs"
        logs.mkdir()
        (logs / "a.log").write_text(VALUE)
        run(audit, logs, SeenFiles.open(str(tmp_path / "state"), SOUGHT))
        [part] = (tmp_path / "state").glob("seen-*")
        row = json.loads(part.read_text())
        del fields(row)[-1]
        part.write_text(f"{json.dumps(row)}\n")

        report = run(audit, logs, SeenFiles.open(str(tmp_path / "state"), SOUGHT))

        assert (report.read, places(report)) == (1, [("a.log", 0, 1)])

    def test_other_values_make_everything_be_read_again(self, tmp_path: Path) -> None:
        seen = SeenFiles.open(str(tmp_path), SOUGHT)
        seen.files.clear()

        assert SeenFiles.open(str(tmp_path), SOUGHT).files == {}
        assert SeenFiles.open(str(tmp_path), Sought([KnownSecret(PASSWORD, "another value")])).files == {}

    def test_other_values_that_are_no_secrets_make_everything_be_read_again(self, tmp_path: Path) -> None:
        seen = SeenFiles.open(str(tmp_path), SOUGHT)
        seen.keep([SearchedFile(FoundFile("/log", 1, 1))])
        excepting = replace(SOUGHT, no_secrets=[KnownSecret(PASSWORD, "no secret")])

        assert SeenFiles.open(str(tmp_path), excepting).files == {}

    def test_a_search_of_another_version_reads_everything_again(self, audit: LeakAudit, tmp_path: Path) -> None:
        logs, state = tmp_path / "logs", str(tmp_path / "state")
        logs.mkdir()
        (logs / "a.log").write_text(VALUE)
        run(audit, logs, SeenFiles.open(state, SOUGHT, version="of yesterday"))

        assert len(SeenFiles.open(state, SOUGHT, version="of yesterday").files) == 1
        assert SeenFiles.open(state, SOUGHT).files == {}

    def test_parquet_is_read_as_a_whole_if_it_was_written_anew(self, audit: LeakAudit, tmp_path: Path) -> None:
        tables, state = tmp_path / "tables", str(tmp_path / "state")
        tables.mkdir()
        parquet.write_table(pa.table({"message": [VALUE] * 5}), tables / "a.parquet")
        first = run(audit, tables, SeenFiles.open(state, SOUGHT))
        again = run(audit, tables, SeenFiles.open(state, SOUGHT))
        parquet.write_table(pa.table({"message": ["nothing" * 90, VALUE]}), tables / "a.parquet", compression="none")

        report = run(audit, tables, SeenFiles.open(state, SOUGHT))

        assert again.leaks == first.leaks
        assert (again.read, report.read) == (0, 1)
        assert [(leak.column, leak.line) for leak in report.leaks] == [("message", 2)]

    def test_the_state_shows_no_value(self, audit: LeakAudit, tmp_path: Path) -> None:
        (tmp_path / "logs").mkdir()
        (tmp_path / "logs" / "a.log").write_text(VALUE)
        run(audit, tmp_path / "logs", SeenFiles.open(str(tmp_path / "state"), SOUGHT))

        kept = b"".join(path.read_bytes() for path in (tmp_path / "state").iterdir())

        assert str(PASSWORD).encode() in kept
        assert VALUE.encode() not in kept

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("[" * 200_000, id="deep"),
            pytest.param('[[1, "x", 1, "", 1], [], 0, 0, "", ""]', id="types"),
            pytest.param("[]", id="list"),
            pytest.param("1" * 5_000, id="number"),
            pytest.param("\x00", id="no-JSON"),
        ],
    )
    def test_what_is_no_state_is_searched_again(self, tmp_path: Path, text: str) -> None:
        SeenFiles.open(str(tmp_path), SOUGHT)
        (tmp_path / "seen-00000000-x.jsonl").write_text(f"{text}\n")

        assert SeenFiles.open(str(tmp_path), SOUGHT).files == {}

        (tmp_path / "secrets.json").write_text(text)
        assert SeenFiles.open(str(tmp_path), SOUGHT).files == {}

    def test_a_row_has_the_lines_of_a_file_before_its_bytes(self, tmp_path: Path) -> None:
        SeenFiles.open(str(tmp_path), SOUGHT)
        (tmp_path / "seen-00000000-x.jsonl").write_text('[["/log", 9, 1, "", 0], [], 1, 7, "x", "e"]\n')

        [one] = SeenFiles.open(str(tmp_path), SOUGHT).files.values()

        assert one == SearchedFile(FoundFile("/log", 9, 1), Found((), 7, 1, "x", "e"))

    @pytest.mark.parametrize("name", ["secrets.json", "seen-00000000-x.jsonl"])
    def test_a_pipe_in_the_state_is_not_waited_for(self, tmp_path: Path, name: str) -> None:
        SeenFiles.open(str(tmp_path), SOUGHT)
        (tmp_path / name).unlink(missing_ok=True)
        os.mkfifo(tmp_path / name)

        assert SeenFiles.open(str(tmp_path), SOUGHT).files == {}

    def test_what_cannot_be_listed_is_not_forgotten(self, tmp_path: Path) -> None:
        logs, state = tmp_path / "mounted" / "logs", tmp_path / "state"
        logs.mkdir(parents=True)
        (logs / "a.log").write_text("nothing\n")
        listing = FileListing.of([str(logs)])
        SeenFiles.open(str(state), SOUGHT).keep(
            [SearchedFile(one, Found(lines=1, octets=one.size)) for one in listing.files]
        )
        (tmp_path / "mounted").rename(tmp_path / "away")

        report = audit_leaks(LeakRequest([str(logs)], state=str(state)), SOUGHT)

        (tmp_path / "away").rename(tmp_path / "mounted")
        assert report.unread
        assert not Work.of(listing, SeenFiles.open(str(state), SOUGHT).files, margin=100).files

    def test_what_is_as_it_was_is_not_written_again(self, audit: LeakAudit, tmp_path: Path) -> None:
        logs, state = tmp_path / "logs", tmp_path / "state"
        logs.mkdir()
        for name in ("a.log", "b.log"):
            (logs / name).write_text(VALUE)
        self.compacted(audit, logs, state)
        [part] = state.glob("seen-*")

        self.compacted(audit, logs, state)

        assert list(state.glob("seen-*")) == [part]

    @pytest.mark.parametrize("broken", [b"{}\n", b"\xff\n", b""], ids=["no row", "no text", "nothing"])
    def test_what_is_new_gone_or_broken_is_written_as_one_part(
        self, audit: LeakAudit, tmp_path: Path, broken: bytes
    ) -> None:
        logs, state = tmp_path / "logs", tmp_path / "state"
        logs.mkdir()
        for name in ("a.log", "b.log"):
            (logs / name).write_text(VALUE)
        self.compacted(audit, logs, state)
        [part] = state.glob("seen-*")
        part.write_bytes(part.read_bytes() + broken)
        if not broken:
            (logs / "a.log").unlink()
            (logs / "b.log").write_text(f"{VALUE} {VALUE}")

        self.compacted(audit, logs, state)

        [other] = state.glob("seen-*")
        assert other != part
        rows = [json.loads(line) for line in other.read_text().splitlines()]
        assert [Path(row[0][0]).name for row in rows] == (["a.log", "b.log"] if broken else ["b.log"])

    @staticmethod
    def compacted(audit: LeakAudit, logs: Path, state: Path) -> None:
        seen = SeenFiles.open(str(state), SOUGHT)
        run(audit, logs, seen)
        seen.compact({str(path) for path in logs.iterdir()})

    def test_nobody_else_can_read_the_state(self, audit: LeakAudit, tmp_path: Path) -> None:
        (tmp_path / "logs").mkdir()
        (tmp_path / "logs" / "a.log").write_text(VALUE)
        run(audit, tmp_path / "logs", SeenFiles.open(str(tmp_path / "state"), SOUGHT))

        assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700
        assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "state").glob("seen-*")} == {0o600}

    def test_a_folder_with_other_files_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "report.txt").write_text("x")

        with pytest.raises(ConfigException, match=r"other files, such as report\.txt"):
            SeenFiles.open(str(tmp_path), SOUGHT)


def test_nothing_to_read_starts_no_spark(tmp_path: Path) -> None:
    request = LeakRequest([str(tmp_path)], master="spark://nowhere.invalid:7077")

    assert audit_leaks(request, SOUGHT).files == 0


def test_values_are_nowhere_in_sparks_configuration(audit: LeakAudit, session: Any, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(VALUE)
    run(audit, tmp_path)

    assert VALUE not in json.dumps(session.sparkContext.getConf().getAll())
    assert session.sparkContext.getConf().get("spark.io.encryption.enabled") == "true"


def test_hostile_names_harm_neither_the_state_nor_the_page(audit: LeakAudit, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    names = [b"\xff\xfe", b"new\nline", b"\x1b[31m", b"<script>", b"a#b%20:c d", b"${vault:x:y}"]
    for name in names:
        Path(os.fsdecode(os.fsencode(logs) + b"/" + name)).write_text(VALUE)
    run(audit, logs, SeenFiles.open(str(tmp_path / "state"), SOUGHT))

    report = run(audit, logs, SeenFiles.open(str(tmp_path / "state"), SOUGHT))

    shown = page(report)
    assert {os.fsencode(Path(leak.file).name) for leak in report.leaks} == set(names)
    assert report.read == 0
    assert "\x1b" not in shown
    assert "<script" not in shown
    assert shown.encode()


def test_values_in_paths_are_leaks_and_not_shown(tmp_path: Path) -> None:
    value = "c4nary-in-a-path"
    logs = tmp_path / "logs" / f"user={value}"
    logs.mkdir(parents=True)
    (logs / "a.log").write_text("nothing")
    (logs / "broken.gz").write_bytes(b"\x1f\x8b\x08")
    (logs / "link").symlink_to("nowhere")
    request = LeakRequest(
        [str(tmp_path / "logs")],
        master="local[2]",
        state=str(tmp_path / "state"),
        reversed_copy=str(tmp_path / "copies"),
    )

    report = audit_leaks(request, Sought([KnownSecret(PASSWORD, value)]))

    kept = [path.read_text() for path in (tmp_path / "state").iterdir()]
    assert {(leak.line, leak.encoding) for leak in report.leaks} == {(0, "plain, in the path")}
    assert sorted(Path(leak.file).name for leak in report.leaks) == ["a.log", "broken.gz", "link"]
    assert value not in f"{report}{page(report)}{kept}"
    assert list((tmp_path / "copies").iterdir()) == []


def _tar(content: bytes) -> bytes:
    """Return an archive with one file."""
    target, header = io.BytesIO(), tarfile.TarInfo("a.log")
    header.size = len(content)
    with tarfile.open(fileobj=target, mode="w") as tar:
        tar.addfile(header, io.BytesIO(content))
    return target.getvalue()


class TestReversedCopies:
    def test_a_folder_below_the_searched_ones_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigException, match="it is below a searched path"):
            target_of(str(tmp_path / "logs" / "copies"), [str(tmp_path)])

        assert list(tmp_path.iterdir()) == []

    def test_parquet_is_copied_as_it_is_or_not_at_all(self, audit: LeakAudit, tmp_path: Path) -> None:
        tables, copies = tmp_path / "tables", tmp_path / "copies"
        tables.mkdir()
        parquet.write_table(pa.table({"message": ["nothing"]}), tables / "clean.parquet")
        parquet.write_table(pa.table({"message": [VALUE]}), tables / "leaky.parquet", compression="gzip")
        (tables / "broken.parquet").write_bytes((tables / "leaky.parquet").read_bytes()[:-20])

        problems = audit.copy(FileListing.of([str(tables)]).files, target_of(str(copies), [str(tables)]))

        assert {path.name: path.read_bytes() for path in copies.iterdir()} == {
            "clean.parquet": (tables / "clean.parquet").read_bytes()
        }
        assert {Path(path).name: problem for path, problem in problems.items()} == {
            "broken.parquet": "It cannot be read as Parquet: ArrowInvalid. Only its bytes as they are were searched.",
            "leaky.parquet": "References cannot replace the values in Parquet.",
        }

    def test_a_tar_archive_is_copied_as_it_is_or_not_at_all(self, audit: LeakAudit, tmp_path: Path) -> None:
        """A header has the size of its file, so that an archive with other bytes in it could not be unpacked."""
        archives, copies = tmp_path / "archives", tmp_path / "copies"
        archives.mkdir()
        (archives / "clean.tar").write_bytes(_tar(b"nothing"))
        (archives / "leaky.tar").write_bytes(_tar(VALUE.encode()))
        (archives / "leaky.tar.gz").write_bytes(gzip.compress(_tar(VALUE.encode())))

        problems = audit.copy(FileListing.of([str(archives)]).files, target_of(str(copies), [str(archives)]))

        assert {path.name: path.read_bytes() for path in copies.iterdir()} == {"clean.tar": _tar(b"nothing")}
        assert {Path(path).name: problem for path, problem in problems.items()} == dict.fromkeys(
            ("leaky.tar", "leaky.tar.gz"),
            "References have other lengths than values, which breaks a tar archive. Unpack it, and search its files.",
        )

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            pytest.param("a.xz", lzma.compress(VALUE.encode()), id="xz"),
            pytest.param("a.log.gz", gzip.compress(gzip.compress(VALUE.encode())), id="compressed-twice"),
        ],
    )
    def test_what_cannot_be_searched_as_a_whole_has_no_copy(
        self, audit: LeakAudit, tmp_path: Path, name: str, content: bytes
    ) -> None:
        """Its values could be in the copy, which is made to be shared."""
        (tmp_path / "in").mkdir()
        (tmp_path / "in" / name).write_bytes(content)

        problems = audit.copy(
            FileListing.of([str(tmp_path / "in")]).files, target_of(str(tmp_path / "copies"), [str(tmp_path / "in")])
        )

        assert [problem.endswith("only its bytes as they are were searched.") for problem in problems.values()] == [
            True
        ]
        assert list((tmp_path / "copies").iterdir()) == []

    def test_a_copy_does_not_replace_that_of_another_file(self, audit: LeakAudit, tmp_path: Path) -> None:
        logs = tmp_path / "logs"
        logs.mkdir()
        (logs / "app").write_text("plain")
        (logs / "app.lz4").write_bytes(COMPRESSED["lz4"](b"compressed"))

        audit.copy(FileListing.of([str(logs)]).files, target_of(str(tmp_path / "copies"), [str(logs)]))

        assert {path.name: path.read_text() for path in (tmp_path / "copies").iterdir()} == {
            "app": "plain",
            "app.lz4.decompressed": "compressed",
        }


class TestStateFolder:
    def test_two_audits_do_not_use_one_folder_at_once(self, tmp_path: Path) -> None:
        with (
            locked(str(tmp_path)),
            pytest.raises(ConfigException, match="another audit uses it"),
            locked(str(tmp_path)),
        ):
            pass

    @pytest.mark.parametrize("mode", [0o777, 0o770, 0o702], ids=oct)
    def test_a_folder_to_which_others_can_write_is_refused(self, tmp_path: Path, mode: int) -> None:
        (tmp_path / "state").mkdir()
        (tmp_path / "state").chmod(mode)

        with pytest.raises(ConfigException, match="others can write to it"), locked(str(tmp_path / "state")):
            pass

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
    def test_a_folder_of_another_user_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "state").mkdir()
        os.chown(tmp_path / "state", 12345, -1)

        with pytest.raises(ConfigException, match="it belongs to another user"), locked(str(tmp_path / "state")):
            pass


def test_times_beyond_those_of_python_are_shown_as_the_last() -> None:
    assert (iso_moment(10**30), iso_moment(-(10**30))) == ("9999-12-30T00:00:00+00:00", "0001-01-02T00:00:00+00:00")


def test_a_leak_in_a_file_whose_store_gives_no_time_has_none() -> None:
    assert iso_moment(0) == ""


def test_accepted_leaks_are_counted_and_left_out(audit: LeakAudit, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(f"{VALUE} {VALUE}")
    report = run(audit, tmp_path)

    report.accept(Baseline({report.leaks[0].id: {""}}))

    assert (len(report.leaks), report.accepted) == (1, 1)
    assert "The baseline has no fingerprint for 1 leak that it leaves out" in report.notes[0]
    assert summary(report).endswith("1 leak, and 1 that the baseline accepts.")


def test_a_new_key_makes_everything_be_read_again_because_leaks_have_fingerprints_of_it(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.log").write_text(VALUE)
    request = LeakRequest([str(tmp_path / "logs")], state=str(tmp_path / "state"), master="local[2]")
    secrets = SOUGHT.secrets

    marks = [
        audit_leaks(request, Sought(secrets, key=key)).leaks[0].fingerprint
        for key in (None, FingerprintKey(b"k" * 32), FingerprintKey(b"o" * 32))
    ]

    assert [mark[:8] for mark in marks] == ["", *(FingerprintKey(one * 32).id[:8] for one in (b"k", b"o"))]


def test_the_page_has_no_markup_from_outside(audit: LeakAudit, tmp_path: Path) -> None:
    folder = tmp_path / "dag_id=<script>alert(1)<"
    folder.mkdir()
    (folder / "x\x1b[31m.log").write_text(VALUE)

    shown = page(run(audit, tmp_path))

    assert "<script" not in shown
    assert "&lt;script&gt;" in shown
    assert "\x1b" not in shown
    assert "http" not in shown.replace("http-equiv", "")


def test_what_was_found_in_a_table_before_it_could_not_be_read_is_kept(audit: LeakAudit) -> None:
    def batches(table: TextTable) -> Iterator[list[Sequence[Any]]]:
        yield [("a", None, f"x {VALUE}")]
        raise ProviderUnavailableError("The database went away.")

    found = audit.search_database(TextDatabase([TextTable("xcom", ("key",), ("k0",), ("value",), "")], batches))

    assert [leak.file for leak in found.leaks] == ["database:xcom.value:key=a"]
    assert found.unread == {"database:xcom": "The database went away."}


def test_the_secret_of_a_cluster_is_not_taken_from_arguments() -> None:
    configs = {"spark.authenticate.secret": "s3cret-of-the-cluster"}

    with (
        pytest.raises(ConfigException, match=r"Write it to spark-defaults\.conf") as raised,
        audit_session(configs=configs),
    ):
        pass

    assert "s3cret" not in str(raised.value)


SESSIONS = """
import json, sys
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.spark.audit.session import audit_session

ended = {}
with audit_session() as session:
    ended["master"] = session.sparkContext.master
for key in sys.argv[1:]:
    try:
        with audit_session("local[1]", {key: "false"}):
            ended[key] = "started"
    except ConfigException as error:
        ended[key] = str(error)
print(json.dumps(ended))
"""
ENCRYPTING = ("spark.io.encryption.enabled", "spark.network.crypto.enabled")


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """
    How sessions have ended, each of which lacks one of ``ENCRYPTING``, and the master of one that is given nothing.

    They are in a process of their own, one after the other, because a JVM has one session.
    """
    folder = tmp_path_factory.mktemp("conf")
    (folder / "spark-defaults.conf").write_text("spark.master local[1]\n")
    environ = {**os.environ, "SPARK_CONF_DIR": str(folder)}
    command = [sys.executable, "-c", SESSIONS, *ENCRYPTING]
    return json.loads(subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stdout)


@pytest.mark.slow
@pytest.mark.parametrize("key", ENCRYPTING, ids=["disk", "wire"])
def test_a_session_without_encryption_is_refused(ended: Any, key: str) -> None:
    assert f"set {key}=true" in ended[key]


@pytest.mark.slow
def test_the_master_of_sparks_defaults_is_taken(ended: Any) -> None:
    assert ended["master"] == "local[1]"


def test_a_session_that_was_there_before_goes_on(session: Any) -> None:
    with audit_session("local[2]"):
        pass

    assert session.range(3).count() == 3
